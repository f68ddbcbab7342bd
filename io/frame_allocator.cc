#include "io/frame_allocator.h"

#include <array>
#include <new>

namespace braid::io {
namespace {

constexpr std::size_t class_bytes = 128;
constexpr std::size_t classes = 32;  // frames up to 4 KiB
constexpr std::size_t kept_bytes_max = 512 * 1024;

struct FreeFrame {
  FreeFrame* next;
};

struct FreeLists {
  std::array<FreeFrame*, classes> lists{};
  std::size_t kept_bytes = 0;
  bool closed = false;

  FreeLists() = default;
  FreeLists(const FreeLists&) = delete;
  FreeLists& operator=(const FreeLists&) = delete;
  ~FreeLists() {
    closed = true;
    for (FreeFrame*& list : lists)
      while (list != nullptr) {
        FreeFrame* frame = list;
        list = frame->next;
        ::operator delete(frame);
      }
  }
};

FreeLists& free_lists() {
  thread_local FreeLists lists;
  return lists;
}

constexpr std::size_t class_of(std::size_t bytes) { return (bytes - 1) / class_bytes; }

}  // namespace

void* allocate_frame(std::size_t bytes) {
  const std::size_t index = class_of(bytes);
  if (index >= classes) return ::operator new(bytes);
  FreeLists& lists = free_lists();
  if (FreeFrame* frame = lists.lists[index]; frame != nullptr) {
    lists.lists[index] = frame->next;
    lists.kept_bytes -= (index + 1) * class_bytes;
    return frame;
  }
  return ::operator new((index + 1) * class_bytes);
}

void free_frame(void* memory, std::size_t bytes) noexcept {
  const std::size_t index = class_of(bytes);
  FreeLists& lists = free_lists();
  const std::size_t block = (index + 1) * class_bytes;
  if (index >= classes || lists.closed || lists.kept_bytes + block > kept_bytes_max) {
    ::operator delete(memory);
    return;
  }
  auto* frame = static_cast<FreeFrame*>(memory);
  frame->next = lists.lists[index];
  lists.lists[index] = frame;
  lists.kept_bytes += block;
}

}  // namespace braid::io
