#pragma once

#include <string>
#include <string_view>

#include "fake_content.h"
#include "posix_fixture.h"
#include "tests/unit/rpc/loop.h"

namespace braid::vfs {

class ContentFixture : public PosixTest {
 protected:
  ContentFixture() { options_.sources = {&source_}; }
  void SetUp() override {
    PosixTest::SetUp();
    if (IsSkipped()) return;
    local_write("plain", "own bytes");
    local_write("file", "0123456789");
    file_ = find("file");
    place(file_);
  }
  void TearDown() override {
    file_ = {};
    PosixTest::TearDown();
  }

  ContentRef place(const FileRef& file) { return run(fs_->place(file, source_, {})).value(); }
  FakeContent& content() { return *source_.of(attributes(file_).fileid); }
  OpenFileRef open(const FileRef& file, OpenAccess access = OpenAccess::both) {
    return run(fs_->open({}, file, access, OpenRule::caller)).value();
  }
  Outcome<std::string> text_of(OpenFile& open, std::uint64_t offset = 0, std::uint32_t count = 1 << 20) {
    const auto got = run(open.read(offset, count, *cursor_));
    if (!got) return base::fail(got.error());
    std::string text(got->data.size(), '\0');
    got->data.in_memory().value().copy_to(0, std::as_writable_bytes(std::span(text)));
    return text;
  }
  template <class F>
  void on_reactor(F body) {
    rpc::test::Loop loop(clock_);
    loop.run(body);
  }

  FakeSource source_;
  FileRef file_;
};

}  // namespace braid::vfs
