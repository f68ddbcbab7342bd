#include "server/roles/stores/figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace braid::server::roles::stores {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Fruit {
  std::uint64_t eaten = 0, left = 0, rotten = 0;
};

constexpr std::array<Figure<Fruit>, 3> fruit_figures{{
    {&Fruit::eaten, "eaten", "fruit_eaten_total", "What was eaten"},
    {&Fruit::left, "left", "fruit_left", "What is left", FigureKind::gauge},
    {&Fruit::rotten, "rotten"},
}};

TEST(Figures, each_is_a_member_of_the_report) {
  nlohmann::json members = {{"name", "apples"}};
  add_figures<Fruit>(members, fruit_figures, {.eaten = 1, .left = 2, .rotten = 3});
  EXPECT_EQ(members, (nlohmann::json{{"name", "apples"}, {"eaten", 1}, {"left", 2}, {"rotten", 3}}));
}

TEST(Figures, those_with_a_name_are_metrics_that_are_read_when_somebody_looks) {
  base::MetricRegistry metrics;
  Fruit fruit{.eaten = 1, .left = 2, .rotten = 3};
  register_figures<Fruit>(metrics, "kind=\"apple\"", fruit_figures, [&fruit] { return fruit; });
  EXPECT_THAT(metrics.prometheus(),
              HasSubstr("# TYPE fruit_eaten_total counter\nfruit_eaten_total{kind=\"apple\"} 1\n"));
  EXPECT_THAT(metrics.prometheus(), HasSubstr("# TYPE fruit_left gauge\nfruit_left{kind=\"apple\"} 2\n"));
  EXPECT_THAT(metrics.prometheus(), Not(HasSubstr("rotten")));
  fruit.left = 9;
  EXPECT_THAT(metrics.prometheus(), HasSubstr("fruit_left{kind=\"apple\"} 9\n"));
}

}  // namespace
}  // namespace braid::server::roles::stores
