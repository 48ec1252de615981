#include "llvm/Passes/PassBuilder.h"
#include "llvm/Plugins/PassPlugin.h"
extern "C" LLVM_ATTRIBUTE_WEAK __attribute__((visibility("default"))) llvm::PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "vfriendly", "0.1", [](llvm::PassBuilder &) {}};
}
