#include "checkers/spin-loops/FixIts.h"
namespace vfriendly::tidy {
std::optional<FixStyle> parseStyle(llvm::StringRef Name) {
  if (Name == "pause") return FixStyle::Pause;
  if (Name == "spin-then-block") return FixStyle::SpinThenBlock;
  if (Name == "std-atomic-wait") return FixStyle::StdAtomicWait;
  return std::nullopt;
}
Fix planFix(FixStyle Style, const SpinLoop &Spin, const LoopSite &Site,
            TuUses &Uses, StateNames &Names) { return {}; }
}
