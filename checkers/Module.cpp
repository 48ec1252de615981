#include "clang-tidy/ClangTidyModule.h"
#include "clang-tidy/ClangTidyModuleRegistry.h"
namespace {
struct M : clang::tidy::ClangTidyModule { void addCheckFactories(clang::tidy::ClangTidyCheckFactories &) override {} };
}
static clang::tidy::ClangTidyModuleRegistry::Add<M> X("vfriendly-module", "Adds the vfriendly checks.");
