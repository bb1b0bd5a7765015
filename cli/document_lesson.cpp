#include "cli/document_lesson.h"

#include <algorithm>
#include <cstring>

#include "cli/architectures.h"
#include "include/volta_data.h"

namespace voltac {
namespace {

using Tensor = std::unique_ptr<volta_tensor, Release<volta_tensor, volta_tensor_release>>;

constexpr std::int64_t kWindowStep = 8;

// SplitMix64, from which an epoch's order is drawn.
class Draws {
  public:
    Draws(std::uint64_t seed, std::uint64_t epoch)
        : state_(seed * 0xd1342543de82ef95u + epoch * 0x2545f4914f6cdd1du) {
        next();
    }
    std::uint64_t next() {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        return z ^ z >> 31;
    }

  private:
    std::uint64_t state_;
};

// Places of a row that a document takes: of a language model its last token is asked for and not read.
std::size_t places_of(const Document& document, const DocumentModel& model) {
    return document.tokens.size() - (model.classifies || document.tokens.empty() ? 0 : 1);
}

// Rows of documents, as a model takes them.
class Rows {
  public:
    // `packed`: one input more says where the document of each token begins.
    Rows(const Context& context, const DocumentModel& model, std::int64_t rows, std::int64_t time,
         bool packed)
        : context_(context), model_(model), rows_(rows), time_(time), packed_(packed) {
        const auto places = static_cast<std::size_t>(rows * time);
        for (std::size_t i = 0; i < model.inputs() + (packed ? 1 : 0); ++i) values_.emplace_back(places);
        targets_.resize(model.classifies ? static_cast<std::size_t>(rows) : places);
        for (std::vector<std::int32_t>& input : values_) tensors_.push_back(wrapped(input, false));
        target_tensor_ = wrapped(targets_, model.classifies);
        for (const Tensor& tensor : tensors_) inputs_.push_back(tensor.get());
    }

    // What stands behind the last document is one of its own, of which nothing is asked.
    void fill(std::int64_t row, const RowOfDocuments& placed, const std::vector<Document>& documents) {
        clear(row);
        std::size_t end = 0;
        for (const Placed& each : placed) {
            put(row, each.place, documents[each.document]);
            end = each.place + places_of(documents[each.document], model_);
        }
        if (packed_) begin_document(row, end, static_cast<std::size_t>(time_));
    }
    void fill(std::int64_t row, const Document& document) {
        clear(row);
        put(row, 0, document);
    }

    const volta_tensor* const* inputs() const { return inputs_.data(); }
    std::size_t input_count() const { return inputs_.size(); }
    const volta_tensor* targets() const { return target_tensor_.get(); }
    std::int32_t target(std::size_t i) const { return targets_[i]; }
    std::size_t target_count() const { return targets_.size(); }

  private:
    std::size_t first_of(std::int64_t row) const { return static_cast<std::size_t>(row * time_); }

    void clear(std::int64_t row) {
        const auto first = static_cast<std::ptrdiff_t>(first_of(row));
        for (std::vector<std::int32_t>& input : values_) std::fill_n(input.begin() + first, time_, 0);
        if (!model_.classifies) std::fill_n(targets_.begin() + first, time_, -1);
    }

    void put(std::int64_t row, std::size_t place, const Document& document) {
        const std::size_t first = first_of(row) + place, places = places_of(document, model_);
        std::copy_n(document.tokens.begin(), places, values_[0].begin() + static_cast<std::ptrdiff_t>(first));
        for (std::size_t i = 0; i < places && model_.takes_segments; ++i)
            values_[1][first + i] = document.segments[i];
        for (std::size_t i = 0; i < places && model_.takes_mask; ++i) values_.back()[first + i] = 1;
        if (packed_) begin_document(row, place, place + places);
        if (model_.classifies) {
            targets_[static_cast<std::size_t>(row)] = document.label;
            return;
        }
        for (std::size_t i = 0; i < places; ++i)
            if (document.asked[i + 1] == 1) targets_[first + i] = document.tokens[i + 1];
    }

    void begin_document(std::int64_t row, std::size_t place, std::size_t end) {
        const auto first = values_.back().begin() + static_cast<std::ptrdiff_t>(first_of(row));
        std::fill(first + static_cast<std::ptrdiff_t>(place), first + static_cast<std::ptrdiff_t>(end),
                  static_cast<std::int32_t>(place));
    }

    Tensor wrapped(std::vector<std::int32_t>& values, bool labels) const {
        const std::int64_t shape[] = {rows_, time_};
        volta_tensor* tensor = nullptr;
        check(volta_tensor_wrap(context_.get(), VOLTA_I32, shape, labels ? 1 : 2, values.data(), &tensor));
        return Tensor(tensor);
    }

    const Context& context_;
    const DocumentModel model_;
    std::int64_t rows_, time_;
    bool packed_;
    std::vector<std::vector<std::int32_t>> values_;  // tokens, segments, mask, starts: those that are taken
    std::vector<std::int32_t> targets_;
    std::vector<Tensor> tensors_;
    std::vector<const volta_tensor*> inputs_;
    Tensor target_tensor_;
};

Session session_of(const Model& model, const DocumentModel& kind, std::int64_t time) {
    std::vector<std::int64_t> shapes;
    for (std::size_t i = 0; i < kind.inputs(); ++i) shapes.insert(shapes.end(), {1, time});
    volta_session_options options = VOLTA_SESSION_OPTIONS_INIT;
    options.input_shapes = shapes.data();
    options.input_extent_count = shapes.size();
    volta_session* session = nullptr;
    check(volta_session_create(model.get(), &options, &session));
    return Session(session);
}

class DocumentLesson final : public Lesson {
  public:
    DocumentLesson(const Context& context, Model model, const volta_trainer_options& options,
                   const DocumentModel& kind, DocumentLists documents)
        : context_(context),
          model_(std::move(model)),
          kind_(kind),
          documents_(std::move(documents)),
          seed_(options.seed),
          time_(options.input_shapes[1]),
          validation_time_(options.packed_documents != 0 ? document_window(documents_.validation, kind, time_)
                                                         : time_),
          count_(options.input_shapes[0] * static_cast<std::int64_t>(options.micro_batches)),
          rows_(context, kind, count_, time_, options.packed_documents != 0) {}

    volta_status step(volta_trainer* trainer, volta_step_report* report) override {
        const std::uint64_t first = volta_trainer_current_step(trainer) * static_cast<std::uint64_t>(count_);
        for (std::int64_t row = 0; row < count_; ++row)
            rows_.fill(row, documents_.rows[place(first + static_cast<std::uint64_t>(row))],
                       documents_.train);
        return volta_trainer_step(trainer, rows_.inputs(), rows_.input_count(), rows_.targets(), report);
    }

    bool validates() const override { return !documents_.validation.empty(); }

    // The mean over all that the documents ask for.
    double validation_loss(volta_trainer* trainer) override {
        check(volta_trainer_update_model(trainer));
        const DocumentScore score =
            score_documents(context_, model_, kind_, documents_.validation, validation_time_);
        correct_ = score.correct;
        return score.loss;
    }
    std::uint64_t validation_correct() const override { return kind_.classifies ? correct_ : 0; }
    std::uint64_t validation_count() const override {
        return kind_.classifies ? documents_.validation.size() : 0;
    }

  private:
    // The row of documents at a place of the whole run.
    std::size_t place(std::uint64_t at) {
        const std::uint64_t count = documents_.rows.size(), epoch = at / count;
        if (order_.empty() || epoch != epoch_) shuffle(epoch);
        return order_[at % count];
    }

    void shuffle(std::uint64_t epoch) {
        Draws draws(seed_, epoch);
        order_.resize(documents_.rows.size());
        for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = i;
        for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[draws.next() % i]);
        epoch_ = epoch;
    }

    const Context& context_;
    Model model_;
    DocumentModel kind_;
    DocumentLists documents_;
    std::uint64_t seed_, epoch_ = 0, correct_ = 0;
    std::int64_t time_, validation_time_;  // of a row; of one that validates, which has a document alone
    std::int64_t count_;
    Rows rows_;
    std::vector<std::size_t> order_;  // of epoch_
};

}  // namespace

DocumentScore score_documents(const Context& context, const Model& model, const DocumentModel& kind,
                              const std::vector<Document>& documents, std::int64_t window) {
    Rows row(context, kind, 1, window, false);
    std::vector<float> logits(row.target_count() * static_cast<std::size_t>(kind.outputs));
    const std::int64_t of_tokens[] = {1, window, kind.outputs}, of_labels[] = {1, kind.outputs};
    volta_tensor* made = nullptr;
    check(volta_tensor_wrap(context.get(), VOLTA_F32, kind.classifies ? of_labels : of_tokens,
                            kind.classifies ? 2 : 3, logits.data(), &made));
    const Tensor output(made);
    volta_tensor* const outputs[] = {made};
    const Session session = session_of(model, kind, window);
    DocumentScore score;
    double sum = 0;
    for (const Document& document : documents) {
        row.fill(0, document);
        check(volta_session_run(session.get(), row.inputs(), kind.inputs(), outputs, 1));
        for (std::size_t i = 0; i < row.target_count(); ++i) {
            if (row.target(i) < 0) continue;
            const float* const values = logits.data() + i * static_cast<std::size_t>(kind.outputs);
            sum += cross_entropy(values, kind.outputs, row.target(i));
            score.correct +=
                std::max_element(values, values + kind.outputs) - values == row.target(i) ? 1u : 0u;
            ++score.asked;
        }
    }
    score.loss = sum / static_cast<double>(score.asked);
    return score;
}

DocumentModel document_model(const Model& model, const std::vector<Document>& documents,
                             const std::string& path) {
    DocumentModel kind;
    const auto labelled = static_cast<std::size_t>(std::count_if(
        documents.begin(), documents.end(), [](const Document& document) { return document.label >= 0; }));
    if (labelled != 0 && labelled != documents.size())
        failure(formatted("%s: %zu of %zu documents have a label", one_line(path).c_str(), labelled,
                          documents.size()));
    kind.classifies = labelled != 0;
    volta_tensor_info info = {};
    for (std::size_t i = 0; i < volta_model_input_count(model.get()); ++i) {
        check(volta_model_input_info(model.get(), i, &info));
        const std::string name = info.name;
        if (name == "segments") kind.takes_segments = true;
        if (name == "mask") kind.takes_mask = true;
        if (info.dtype != VOLTA_I32 || info.rank != 2 || (i > 0 && name != "segments" && name != "mask"))
            failure("the model has an input '" + name + "' that no document fills");
    }
    check(volta_model_output_info(model.get(), 0, &info));
    kind.outputs = info.shape[info.rank - 1];
    if (kind.classifies && info.rank != 2)
        failure(
            "the documents have labels, but the model does not classify: it needs a head of classes, as "
            "voltac "
            "convert --head classes --mask gives it");
    if (!kind.classifies && (info.rank != 3 || architecture_name(model) == "bert" || kind.inputs() != 1))
        failure("the documents ask for tokens, and the model does not say which token comes next");
    if (kind.classifies && !kind.takes_mask)
        failure(
            "the model has no input that says which tokens are there: voltac convert --head classes --mask "
            "gives "
            "it one");
    // A RoBERTa and a DistilBERT tell both texts apart by what stands between them.
    const bool lacks_segments =
        !kind.takes_segments && std::strtoll(model_size(model, "segments").c_str(), nullptr, 10) > 1;
    for (const Document& document : documents) {
        if (document.label >= kind.outputs)
            failure(formatted("%s:%zu: the label %d is none of the model's %lld classes",
                              one_line(path).c_str(), document.line, document.label,
                              static_cast<long long>(kind.outputs)));
        if (lacks_segments && std::count(document.segments.begin(), document.segments.end(), 1) > 0)
            failure(formatted(
                "%s:%zu: there is a \"text_pair\", but the model has no input of segments: voltac convert "
                "--head classes --mask --segments gives it one",
                one_line(path).c_str(), document.line));
    }
    return kind;
}

std::int64_t document_window(const std::vector<Document>& documents, const DocumentModel& model,
                             std::int64_t most) {
    std::int64_t longest = 1;
    for (const Document& document : documents)
        longest = std::max(longest, static_cast<std::int64_t>(places_of(document, model)));
    return std::min(most, (longest + kWindowStep - 1) / kWindowStep * kWindowStep);
}

std::vector<Document> fit_documents(std::vector<Document> documents, const DocumentModel& model,
                                    std::int64_t window, const std::string& path) {
    const std::size_t before = documents.size();
    std::size_t cut = 0;
    const auto most = static_cast<std::size_t>(window) + (model.classifies ? 0 : 1);
    for (Document& document : documents) {
        cut += document.is_cut || document.tokens.size() > most ? 1u : 0u;
        if (document.tokens.size() <= most) continue;
        document.tokens.resize(most);
        document.asked.resize(std::min(document.asked.size(), most));
        document.segments.resize(std::min(document.segments.size(), most));
    }
    const auto asks_nothing = [&](const Document& document) {
        return document.tokens.empty() ||
               (!model.classifies &&
                std::find(document.asked.begin() + 1, document.asked.end(), 1) == document.asked.end());
    };
    documents.erase(std::remove_if(documents.begin(), documents.end(), asks_nothing), documents.end());
    if (cut > 0)
        warn(formatted("%s: %zu of %zu documents are longer than the %lld tokens of a row, and cut",
                       one_line(path).c_str(), cut, before, static_cast<long long>(window)));
    if (documents.size() < before)
        warn(formatted("%s: %zu of %zu documents ask for nothing, and are left out", one_line(path).c_str(),
                       before - documents.size(), before));
    if (documents.empty()) failure(one_line(path) + ": no document asks for anything");
    return documents;
}

DocumentLists cut_documents(std::vector<Document> documents, const DocumentModel& model, std::int64_t window,
                            const std::string& path) {
    documents = fit_documents(std::move(documents), model, window, path);
    const std::size_t kept = documents.size();
    const std::size_t validates = kept >= 10 ? kept / 10 : kept > 1 ? 1 : 0;
    DocumentLists lists;
    const auto first = documents.end() - static_cast<std::ptrdiff_t>(validates);
    lists.validation.assign(std::make_move_iterator(first), std::make_move_iterator(documents.end()));
    documents.erase(first, documents.end());
    lists.train = std::move(documents);
    return lists;
}

void lay_out_rows(DocumentLists& lists, const DocumentModel& model, std::int64_t window, bool packed) {
    const std::size_t count = lists.train.size();
    lists.rows.resize(count);
    if (!packed) {
        for (std::size_t i = 0; i < count; ++i) lists.rows[i] = {{i, 0}};
        return;
    }
    std::vector<std::uint64_t> lengths, rows(count), places(count);
    for (const Document& document : lists.train) lengths.push_back(places_of(document, model));
    std::uint64_t used = 0;
    if (volta_documents_pack(lengths.data(), count, static_cast<std::uint64_t>(window), nullptr, rows.data(),
                             places.data(), &used) != VOLTA_OK)
        failure(volta_data_last_error());
    for (std::size_t i = 0; i < count; ++i) lists.rows[rows[i]].push_back({i, places[i]});
    lists.rows.resize(used);
}

void tell_packing(const std::string& path, const DocumentLists& lists, const DocumentModel& model,
                  std::int64_t window) {
    double tokens = 0;
    for (const Document& document : lists.train) tokens += static_cast<double>(places_of(document, model));
    warn(formatted("%s: %zu documents in %zu row%s of %lld tokens, of which they fill %.0f %%",
                   one_line(path).c_str(), lists.train.size(), lists.rows.size(),
                   lists.rows.size() == 1 ? "" : "s", static_cast<long long>(window),
                   100 * tokens / (static_cast<double>(lists.rows.size()) * static_cast<double>(window))));
}

std::unique_ptr<Lesson> document_lesson(const Context& context, Model model, volta_trainer* trainer,
                                        const DocumentModel& kind, DocumentLists documents) {
    volta_trainer_options options = VOLTA_TRAINER_OPTIONS_INIT;
    check(volta_trainer_get_options(trainer, &options));
    return std::make_unique<DocumentLesson>(context, std::move(model), options, kind, std::move(documents));
}

}  // namespace voltac
