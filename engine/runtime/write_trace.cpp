// A profile in the Chrome trace event format. Whole numbers only: a host's locale decides how others look.
#include <cstdarg>
#include <cstdio>
#include <string_view>

#include "engine/base/file.h"
#include "engine/base/format.h"
#include "engine/model/text.h"
#include "engine/runtime/gateway.h"
#include "engine/runtime/profile.h"

namespace volta {
namespace {

using Wide = unsigned long long;

class Writer {
  public:
    Writer(const char* path, std::pmr::memory_resource* heap) : file_(path, heap), text_(heap) {
        text_.reserve(kBlock + 1024);
    }

    void add(const char* format, ...) __attribute__((format(printf, 2, 3))) {
        char piece[256];  // numbers and the engine's own words; what hosts named is added by add_string
        va_list arguments;
        va_start(arguments, format);
        vformat(piece, sizeof piece, format, arguments);
        va_end(arguments);
        text_ += piece;
        if (text_.size() >= kBlock) flush();
    }

    // ,"key":"value", or nothing where there is no value.
    void add_string(const char* key, std::string_view value) {
        if (value.empty()) return;
        add(",\"%s\":\"", key);
        for (std::size_t at = 0; at < value.size();) {
            const Character character = read_character(value, at);
            if (character.bytes == 0)
                text_ += "\\ufffd";
            else if (character.code_point < 0x20 || character.code_point == '"' ||
                     character.code_point == '\\')
                add("\\u%04x", static_cast<unsigned>(character.code_point));
            else
                text_.append(value.substr(at, character.bytes));
            at += character.bytes == 0 ? 1 : character.bytes;
        }
        text_ += '"';
    }

    // Microseconds with three places.
    void add_time(const char* key, std::uint64_t ns) {
        add(",\"%s\":%llu.%03u", key, static_cast<Wide>(ns / 1000), static_cast<unsigned>(ns % 1000));
    }

    void commit() {
        flush();
        file_.commit();
    }

  private:
    static constexpr std::size_t kBlock = 1 << 16;
    void flush() {
        file_.write(text_.data(), text_.size());
        text_.clear();
    }
    AtomicFile file_;
    std::pmr::string text_;
};

void add_lanes(Writer& out, int thread_count) {
    out.add("{\"ph\":\"M\",\"pid\":1,\"tid\":0,\"name\":\"process_name\",\"args\":{\"name\":\"volta\"}}");
    for (int thread = 0; thread < thread_count; ++thread)
        out.add(
            ",\n{\"ph\":\"M\",\"pid\":1,\"tid\":%d,\"name\":\"thread_name\",\"args\":{\"name\":\"%s %d\"}}",
            thread, thread == 0 ? "host thread" : "worker", thread);
    out.add(",\n{\"ph\":\"M\",\"pid\":1,\"tid\":%d,\"name\":\"thread_name\",\"args\":{\"name\":\"group\"}}",
            thread_count);
}

void add_counter(Writer& out, const char* name, std::uint64_t at, std::uint64_t bytes) {
    out.add(",\n{\"ph\":\"C\",\"pid\":1,\"tid\":0,\"name\":\"%s\"", name);
    out.add_time("ts", at);
    out.add(",\"args\":{\"bytes\":%llu}}", static_cast<Wide>(bytes));
}

void add_step(Writer& out, const ProfileEvent& event) {
    const Program& program = event.program();
    const Step& step = program.plan().steps[event.step];
    out.add("\"step\":%u,\"value\":\"%%%d\"", event.step, program.plan().graph.node(step.node).first_output);
    out.add_string("node", subject_of(program, event.step));
    out.add_string("kernel", program.kernel_name(event.step));
    if (event.kind != VOLTA_PROFILE_STEP) return;
    const NodeCost& cost = program.facts(event.step).cost;
    if (cost.operations > 0) out.add(",\"operations\":%llu", static_cast<Wide>(cost.operations));
    if (cost.bytes > 0) out.add(",\"bytes\":%llu", static_cast<Wide>(cost.bytes));
}

void add_event(Writer& out, const ProfileEvent& event) {
    static constexpr const char* kCategories[] = {"call", "phase", "step", "worker"};
    const char* const name = event.kind == VOLTA_PROFILE_CALL ? event.call()
                             : event.kind == VOLTA_PROFILE_PHASE
                                 ? phase_name(event.step)
                                 : op_row(event.program().op(event.step)).name;
    out.add(",\n{\"ph\":\"X\",\"pid\":1,\"tid\":%d,\"name\":\"%s\",\"cat\":\"%s\"", event.thread, name,
            kCategories[event.kind]);
    out.add_time("ts", event.begin);
    out.add_time("dur", event.end - event.begin);
    out.add(",\"args\":{");
    if (event.kind >= VOLTA_PROFILE_STEP)
        add_step(out, event);
    else if (event.number >= 0)
        out.add("\"number\":%lld", static_cast<long long>(event.number));
    out.add("}}");
}

// The memory as it stood when the event began: counters hold until the next one.
void add_memory(Writer& out, const ProfileEvent& event) {
    if (event.kind <= VOLTA_PROFILE_PHASE) add_counter(out, "tensor memory held", event.begin, event.held);
    if (event.kind == VOLTA_PROFILE_STEP)
        add_counter(out, "activations alive", event.begin, event.program().facts(event.step).live_bytes);
    if (event.kind == VOLTA_PROFILE_PHASE) add_counter(out, "activations alive", event.end, 0);
}

}  // namespace

void write_trace(const Profile& profile, const Context& context, const char* path) {
    auto& owner = const_cast<Context&>(context);
    Writer out(path, owner.structures());
    out.add(
        "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"producer\":\"volta %s\",\"isa\":\"%s\",\"threads\":%d,"
        "\"dropped_events\":%llu},\n\"traceEvents\":[\n",
        VOLTA_VERSION_TEXT, isa_name(owner.isa()), owner.pool().thread_count(),
        static_cast<Wide>(profile.dropped()));
    add_lanes(out, owner.pool().thread_count());
    for (std::uint64_t i = 0; i < profile.event_count(); ++i) {
        const ProfileEvent& event = profile.event(static_cast<std::size_t>(i));
        add_event(out, event);
        add_memory(out, event);
    }
    out.add("\n]}\n");
    out.commit();
}

}  // namespace volta
