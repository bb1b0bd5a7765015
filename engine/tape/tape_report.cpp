#include "engine/tape/tape_report.h"

#include <cstdio>

namespace volta {
namespace {

using ull = unsigned long long;

// In the order in which they happened.
template <class Visit>
void for_each_event(const Tape& tape, const Visit& visit) {
    const std::uint64_t count = tape.event_count(), most = Tape::kMostEvents;
    for (std::uint64_t i = count > most ? count - most : 0; i < count; ++i)
        visit(tape.events()[static_cast<std::size_t>(i % most)]);
}

void append_json_text(std::pmr::string& text, const char* value) {
    text += '"';
    for (const char* c = value; *c != '\0'; ++c) {
        if (*c == '"' || *c == '\\') text += '\\';
        if (static_cast<unsigned char>(*c) < 0x20)
            text += ' ';
        else
            text += *c;
    }
    text += '"';
}

}  // namespace

std::pmr::string report_as_text(const Tape& tape, std::pmr::memory_resource* heap) {
    std::pmr::string text(heap);
    const TapeCounts& counts = tape.counts();
    char line[640];
    std::snprintf(
        line, sizeof line,
        "%llu records, %llu calls, %llu segments: %llu with a known plan, %llu with a new one; %llu nodes "
        "ran again\n",
        static_cast<ull>(counts.records), static_cast<ull>(counts.calls), static_cast<ull>(counts.flushes),
        static_cast<ull>(counts.plans_known), static_cast<ull>(counts.plans_made),
        static_cast<ull>(counts.repeated_nodes));
    text += line;
    for (int reason = 0; reason < kFlushReasonCount; ++reason) {
        if (counts.by_reason[reason] == 0) continue;
        const FlushReasonRow& row = flush_reason_row(static_cast<FlushReason>(reason));
        std::snprintf(line, sizeof line, "%s %s, %llu times: %s %s\n", row.code, row.name,
                      static_cast<ull>(counts.by_reason[reason]), row.explanation, row.hint);
        text += line;
    }
    for_each_event(tape, [&](const FlushEvent& event) {
        const FlushReasonRow& row = flush_reason_row(event.reason);
        std::snprintf(
            line, sizeof line,
            "record %llu: %s %s%s%s, %u calls, %u nodes (%u again), %s plan, %llu bytes read, %llu written",
            static_cast<ull>(event.record), row.code, row.name, event.place[0] != '\0' ? " at " : "",
            event.place, event.calls, event.nodes, event.repeated, event.was_known ? "known" : "new",
            static_cast<ull>(event.bytes_read), static_cast<ull>(event.bytes_written));
        text += line;
        if (event.difference[0] != '\0') (text += "; ") += event.difference;
        text += '\n';
    });
    return text;
}

std::pmr::string report_as_json(const Tape& tape, std::pmr::memory_resource* heap) {
    std::pmr::string text(heap);
    const TapeCounts& counts = tape.counts();
    char line[640];
    std::snprintf(
        line, sizeof line,
        "{\"records\":%llu,\"calls\":%llu,\"segments\":%llu,\"plans_known\":%llu,\"plans_made\":%llu,"
        "\"repeated_nodes\":%llu,\"flushes\":[",
        static_cast<ull>(counts.records), static_cast<ull>(counts.calls), static_cast<ull>(counts.flushes),
        static_cast<ull>(counts.plans_known), static_cast<ull>(counts.plans_made),
        static_cast<ull>(counts.repeated_nodes));
    text += line;
    bool is_first = true;
    for_each_event(tape, [&](const FlushEvent& event) {
        const FlushReasonRow& row = flush_reason_row(event.reason);
        if (!is_first) text += ',';
        is_first = false;
        std::snprintf(
            line, sizeof line,
            "{\"record\":%llu,\"code\":\"%s\",\"reason\":\"%s\",\"calls\":%u,\"nodes\":%u,\"repeated\":%u,"
            "\"known_plan\":%s,\"bytes_read\":%llu,\"bytes_written\":%llu,\"place\":",
            static_cast<ull>(event.record), row.code, row.name, event.calls, event.nodes, event.repeated,
            event.was_known ? "true" : "false", static_cast<ull>(event.bytes_read),
            static_cast<ull>(event.bytes_written));
        text += line;
        append_json_text(text, event.place);
        text += ",\"difference\":";
        append_json_text(text, event.difference);
        text += '}';
    });
    text += "]}";
    return text;
}

}  // namespace volta
