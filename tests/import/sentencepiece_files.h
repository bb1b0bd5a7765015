// tokenizer.model files made by a test, and character maps for them.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <vector>

namespace volta::test {

// A double array in which the children of each prefix have 256 units of their own, and the texts behind it.
inline std::string character_map(const std::map<std::string, std::string>& rules) {
    std::vector<std::uint32_t> units(256, 0);
    std::string texts;
    std::map<std::string, std::uint32_t> places{{"", 0}};  // of the unit of each prefix
    std::map<std::string, std::uint32_t> bases;            // of its children
    const auto base_of = [&](const std::string& prefix) {
        if (bases.count(prefix) == 0) {
            const auto base = static_cast<std::uint32_t>(units.size());
            units.resize(units.size() + 256, 0x80000000u);  // a label that no byte has
            units[places[prefix]] |= (places[prefix] ^ base) << 10;
            bases[prefix] = base;
        }
        return bases[prefix];
    };
    for (const auto& rule : rules) {
        for (std::size_t at = 0; at < rule.first.size(); ++at) {
            const std::string prefix = rule.first.substr(0, at), longer = rule.first.substr(0, at + 1);
            const auto byte = static_cast<unsigned char>(rule.first[at]);
            const std::uint32_t place = base_of(prefix) ^ byte;
            if (places.count(longer) == 0) units[place] = byte;
            places[longer] = place;
        }
        units[base_of(rule.first)] = 0x80000000u | static_cast<std::uint32_t>(texts.size());
        units[places[rule.first]] |= 0x100;
        texts += rule.second + '\0';
    }
    std::string blob(4 + units.size() * 4, '\0');
    const auto bytes = static_cast<std::uint32_t>(units.size() * 4);
    std::memcpy(&blob[0], &bytes, 4);
    std::memcpy(&blob[4], units.data(), bytes);
    return blob + texts;
}

struct SentencePiece {
    std::string text;
    float score = 0;
    int type = 1;  // of sentencepiece_model.proto: 2 unknown, 3 control, 4 the user's, 5 unused, 6 a byte
};

struct SentencePieceFile {
    std::vector<SentencePiece> pieces;
    int model_type = 2;  // bpe
    bool byte_fallback = false, suffix = false, dummy = true, few_spaces = true;
    std::string map, map_back;      // of the normalizer; of the denormalizer, if it is not empty
    std::string unknown, bos, eos;  // text of what is unknown, names of control pieces; empty: as usual

    std::string bytes() const {
        std::string file;
        protozero::pbf_writer writer(file);
        for (const SentencePiece& piece : pieces) {
            std::string message;
            protozero::pbf_writer fields(message);
            fields.add_string(1, piece.text);
            fields.add_float(2, piece.score);
            if (piece.type != 1) fields.add_int32(3, piece.type);
            writer.add_message(1, message);
        }
        std::string trainer, rules;
        protozero::pbf_writer fields(trainer), normal(rules);
        fields.add_int32(3, model_type);
        fields.add_bool(24, suffix);
        fields.add_bool(35, byte_fallback);
        if (!unknown.empty()) fields.add_string(44, unknown);
        if (!bos.empty()) fields.add_string(46, bos);
        if (!eos.empty()) fields.add_string(47, eos);
        writer.add_message(2, trainer);
        normal.add_string(1, "rules");
        if (!map.empty()) normal.add_bytes(2, map);
        if (!dummy) normal.add_bool(3, false);
        if (!few_spaces) normal.add_bool(4, false);
        writer.add_message(3, rules);
        if (!map_back.empty()) {
            std::string back;
            protozero::pbf_writer(back).add_bytes(2, map_back);
            writer.add_message(5, back);
        }
        return file;
    }
};

}  // namespace volta::test
