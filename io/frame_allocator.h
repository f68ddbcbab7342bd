// Memory for coroutine frames: free lists per thread and size class, so a steady stream of requests allocates
// nothing.
#pragma once

#include <cstddef>

namespace braid::io {

// Any thread may free what another allocated; the block then joins the freeing thread's list. At most 512 KiB
// of free frames are kept per thread.
void* allocate_frame(std::size_t bytes);
void free_frame(void* frame, std::size_t bytes) noexcept;

}  // namespace braid::io
