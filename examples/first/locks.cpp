// The program of the README's section on locks.
#include <cstdio>
#include <mutex>
#include <thread>
#include <vfriendly/sync.hpp>

int main() {
  vf::mutex Lock;
  long Sum = 0;
  auto Add = [&] {
    for (int I = 0; I < 1000; ++I) {
      std::lock_guard<vf::mutex> Held(Lock);
      ++Sum;
    }
  };
  std::thread One(Add), Two(Add);
  One.join();
  Two.join();
  std::printf("%ld\n", Sum);
}
