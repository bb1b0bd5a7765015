// voltac train --report: how a run went, as one page that needs nothing but itself.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cli/options.h"
#include "cli/support.h"

namespace voltac {

// A picture that the model is wrong about, or unsure of.
struct WorstPicture {
    std::string name;  // where it comes from
    std::size_t label = 0, answer = 0;
    double loss = 0, probability = 0;  // of the label
    std::uint32_t channels = 0, height = 0, width = 0;
    std::string pixels;  // [channels, height, width]
};

// What is known of the pictures that were asked for at the end.
struct PictureResults {
    std::vector<std::string> classes;
    std::vector<std::vector<std::uint64_t>> confusion;  // [the label][what the model says]
    std::vector<WorstPicture> worst;                    // the highest loss first
};

class TrainingReport {
  public:
    void declare(Options& options);
    bool is_wanted() const { return !path_.empty(); }
    // A step of `seconds`, evaluation and saving apart.
    void step(const volta_step_report& step, double seconds);
    // What validation gave after a step; of a text `count` is 0.
    void validated(std::uint64_t step, double loss, std::uint64_t correct, std::uint64_t count);
    void fact(const std::string& name, const std::string& value);
    // Writes the page. `unit` and `per_step`: how much of what a step learns.
    void write(const std::string& title, const char* unit, std::uint64_t per_step,
               const PictureResults& pictures) const;

  private:
    struct Validation {
        std::uint64_t step;
        double loss, share;  // share below 0: none
    };
    std::string path_;
    std::vector<std::uint64_t> steps_;
    std::vector<double> losses_, rates_, seconds_;
    std::vector<Validation> validations_;
    std::vector<std::pair<std::string, std::string>> facts_;
};

}  // namespace voltac
