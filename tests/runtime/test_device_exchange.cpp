// Sums and parameters from device to device, without a device: ranks are threads, whose memory a group of the
// test copies. Whatever a piece is, the sums are those of the tree, and every rank has each parameter.
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "engine/group/collective.h"
#include "engine/runtime/context.h"
#include "engine/runtime/device_exchange.h"
#include "engine/runtime/gateway.h"
#include "tests/support/cmocka_cpp.h"
#include "tests/support/tensors.h"

namespace volta::test {
namespace {

std::pmr::memory_resource* heap() { return std::pmr::get_default_resource(); }

using Bytes = std::vector<unsigned char>;

// What is on its way between the ranks of a test.
struct Post {
    std::mutex mutex;
    std::condition_variable changed;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<Bytes>> boxes;
    std::size_t largest = 0;  // bytes of a message
};

class CopyingGroup final : public Group {
  public:
    CopyingGroup(std::uint32_t rank, std::uint32_t size, Post& post) : Group(rank, size), post_(post) {}
    void exchange(std::uint32_t, const void*, std::size_t, void*, std::size_t) override {}
    void leave(const char*) noexcept override {}
    void exchange_on_device(std::uint32_t peer, const DevicePieces& send,
                            const DevicePieces& receive) override {
        Bytes sent;
        for (const DevicePiece& piece : send) {
            const auto* const from = static_cast<const unsigned char*>(piece.data);
            sent.insert(sent.end(), from, from + piece.bytes);
        }
        std::unique_lock<std::mutex> lock(post_.mutex);
        post_.largest = std::max(post_.largest, sent.size());
        post_.boxes[{rank(), peer}].push_back(std::move(sent));
        post_.changed.notify_all();
        auto& box = post_.boxes[{peer, rank()}];
        post_.changed.wait(lock, [&] { return !box.empty(); });
        const Bytes got = std::move(box.front());
        box.pop_front();
        std::size_t at = 0;
        for (const DevicePiece& piece : receive) {
            is_right = is_right && at + piece.bytes <= got.size();
            if (is_right) std::memcpy(piece.data, got.data() + at, piece.bytes);
            at += piece.bytes;
        }
        is_right = is_right && at == got.size();
    }
    bool is_right = true;  // as many bytes came as were expected

  private:
    Post& post_;
};

ContextRef make_context() {
    ContextOptions options;
    options.thread_count = 1;
    Context* context = Context::create(options);
    ContextRef reference(context);
    context->release();
    return reference;
}

constexpr std::size_t kFirst = 16;  // floats before the sums, which stay as they are

// Tensors of these sizes, each with an owner, laid out by position.
struct Layout {
    std::vector<std::size_t> elements, offsets;  // floats
    std::pmr::vector<std::uint32_t> owners;
    std::pmr::vector<std::uint64_t> ends;  // bytes
    std::size_t all = kFirst;
    explicit Layout(std::uint32_t ranks) : owners(heap()), ends(heap()) {
        std::pmr::vector<std::uint64_t> sizes(heap());
        for (const std::size_t count : {400u, 17u, 3000u, 1u, 129u, 700u, 33u, 2048u, 5u}) {
            elements.push_back(count);
            sizes.push_back(count);
        }
        offsets.resize(elements.size());
        owners = share_out(sizes, ranks, heap());
        for (std::uint32_t position = 0; position < ranks; ++position) {
            for (std::size_t i = 0; i < elements.size(); ++i) {
                if (DeviceExchange::position_of(owners[i], ranks) != position) continue;
                offsets[i] = all;
                all += (elements[i] + 15) / 16 * 16;
            }
            ends.push_back(all * sizeof(float));
        }
    }
};

// The sum over the ranks first .. first + count - 1 of one element.
float sum_over(const std::vector<std::vector<float>>& levels, std::size_t at, std::size_t first,
               std::size_t count) {
    if (count == 1) return levels[first][at];
    return sum_over(levels, at, first, count / 2) + sum_over(levels, at, first + count / 2, count / 2);
}

// Rank r's parameters before: those that it owns are its own.
float parameter(std::size_t tensor, std::size_t element, std::uint32_t owner) {
    return static_cast<float>(tensor * 10000 + element) + 0.25f * static_cast<float>(owner);
}

void run(std::uint32_t ranks, std::uint64_t piece_bytes) {
    const Layout layout(ranks);
    std::vector<std::vector<float>> before(ranks), levels, parameters(ranks);
    for (std::uint32_t r = 0; r < ranks; ++r) {
        const auto numbers = random_floats(static_cast<std::int64_t>(layout.all), r + 1);
        before[r].assign(numbers.begin(), numbers.end());
        parameters[r].assign(layout.all, -1.0f);
        for (std::size_t t = 0; t < layout.elements.size(); ++t)
            for (std::size_t i = 0; i < layout.elements[t] && layout.owners[t] == r; ++i)
                parameters[r][layout.offsets[t] + i] = parameter(t, i, r);
    }
    levels = before;
    Post post;
    std::vector<int> right(ranks, 0);
    std::vector<std::thread> threads;
    for (std::uint32_t r = 0; r < ranks; ++r)
        threads.emplace_back([&, r] {
            const ContextRef context = make_context();
            const auto group = std::make_shared<CopyingGroup>(r, ranks, post);
            DeviceExchange exchange(*context, group, kFirst * sizeof(float), layout.ends, piece_bytes);
            exchange.allocate(layout.elements.size());
            exchange.add(reinterpret_cast<unsigned char*>(levels[r].data()));
            std::pmr::vector<DeviceExchange::Parameter> all(heap());
            for (std::size_t t = 0; t < layout.elements.size(); ++t)
                all.push_back({{parameters[r].data() + layout.offsets[t], layout.elements[t] * sizeof(float)},
                               layout.owners[t]});
            exchange.gather(all);
            right[r] = group->is_right;
        });
    for (std::thread& thread : threads) thread.join();
    assert_true(post.largest <= piece_bytes);
    for (std::uint32_t r = 0; r < ranks; ++r) {
        assert_true(right[r]);
        assert_memory_equal(levels[r].data(), before[r].data(), kFirst * sizeof(float));
        for (std::size_t t = 0; t < layout.elements.size(); ++t)
            for (std::size_t i = 0; i < layout.elements[t]; ++i) {
                const std::size_t at = layout.offsets[t] + i;
                const float expected = sum_over(before, at, 0, ranks);
                if (layout.owners[t] == r) assert_memory_equal(&levels[r][at], &expected, sizeof expected);
                const float value = parameter(t, i, layout.owners[t]);
                assert_memory_equal(&parameters[r][at], &value, sizeof value);
            }
    }
}

void test_all_pieces(void**) {
    for (const std::uint32_t ranks : {2u, 4u, 8u})
        for (const std::uint64_t piece_bytes :
             {std::uint64_t{64}, std::uint64_t{4096}, std::uint64_t{64} << 20})
            run(ranks, piece_bytes);
}

}  // namespace
}  // namespace volta::test

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(volta::test::test_all_pieces)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
