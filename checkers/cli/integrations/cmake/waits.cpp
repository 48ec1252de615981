#include <atomic>
#include <thread>

int main() {
  std::atomic<bool> ready{false};
  std::thread setter([&] { ready = true; });
  while (!ready) {
  }
  setter.join();
}
