#include "pnfs_mds/turns.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tests/unit/pnfs_mds/scratch.h"

namespace braid::pnfs_mds::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

class TurnsTest : public ScratchTest {
 protected:
  static io::Op<> visit(TurnsTest& self, std::string name, bool alone) {
    const Turns::Hold hold = co_await (alone ? self.turns_.alone() : self.turns_.together());
    self.log_.push_back("+" + name);
    (void)co_await io::Reactor::current()->sleep(1ms).as_result();
    self.log_.push_back("-" + name);
  }

  Turns turns_;
  std::vector<std::string> log_;
};

TEST_F(TurnsTest, one_alone_waits_for_those_before_and_keeps_those_behind_waiting) {
  run([&]() -> io::Op<> {
    io::Gate gate;
    io::spawn(gate, visit(*this, "a", false));
    io::spawn(gate, visit(*this, "b", false));
    io::spawn(gate, visit(*this, "C", true));
    io::spawn(gate, visit(*this, "d", false));
    io::spawn(gate, visit(*this, "E", true));
    co_await gate.drained();
  });
  EXPECT_THAT(log_, ElementsAre("+a", "+b", "-a", "-b", "+C", "-C", "+d", "-d", "+E", "-E"));
}

}  // namespace
}  // namespace braid::pnfs_mds::test
