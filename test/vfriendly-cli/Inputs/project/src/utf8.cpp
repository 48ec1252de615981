#include <atomic>

namespace zone {
struct Gate {
  std::atomic<bool> open{false};
  void wait() {
    /* 𝄞 é */ while (!open.load()) {
    }
  }
};
void use(Gate &g) { g.wait(); }
} // namespace zone
