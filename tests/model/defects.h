// One row per thing that can be wrong with a model file. Each starts from a valid file and changes exactly
// that.
#pragma once

#include <string>

#include "include/volta.h"

namespace volta::test {

struct ModelEditor;

enum class Base { graph, gpt };  // which golden model a defect is made from

struct Defect {
    const char* name;    // also the file's, where it is committed
    const char* reason;  // what the message must contain
    Base base;
    void (*edit)(ModelEditor&);   // changes the content; lengths and the metadata's checksum follow
    void (*patch)(std::string&);  // changes the file's bytes
    volta_status status = VOLTA_CORRUPT_MODEL;
    bool only_verified = false;  // in bytes of a parameter: a plain mapped open does not look there
    bool committed = false;      // tests/golden/models/broken/<name>.volta, which must be refused forever
};

extern const Defect kDefects[];
extern const int kDefectCount;

// The committed file's path below tests/golden/models: "broken/wrong_magic.volta".
std::string broken_path(const Defect& defect);

// The broken file, made from the bytes of its base.
std::string make_broken(const Defect& defect, const std::string& base);

}  // namespace volta::test
