// The lesson of lines of JSON: a document in each row of a batch, and what it asks for.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/documents.h"
#include "cli/lesson.h"

namespace voltac {

// A checkpoint's metadata: the documents of its run, which a resumed run must have again.
inline constexpr const char* kDocumentsKey = "voltac.documents";

// What a model takes of a document, found by its inputs.
struct DocumentModel {
    bool classifies = false;  // a label of each document, not the next token of each place
    bool takes_segments = false, takes_mask = false;
    std::int64_t outputs = 0;  // classes, or the vocabulary

    std::size_t inputs() const { return 1 + (takes_segments ? 1u : 0u) + (takes_mask ? 1u : 0u); }
};
// Failure unless `model` can learn from these documents.
DocumentModel document_model(const Model& model, const std::vector<Document>& documents,
                             const std::string& path);

// What a model makes of documents: the mean loss of all that they ask for, and how much of it was the
// likeliest.
struct DocumentScore {
    double loss = 0;
    std::uint64_t asked = 0, correct = 0;
};
DocumentScore score_documents(const Context& context, const Model& model, const DocumentModel& kind,
                              const std::vector<Document>& documents, std::int64_t window);

// A document of a list, and where it begins in its row.
struct Placed {
    std::size_t document, place;
};
using RowOfDocuments = std::vector<Placed>;

struct DocumentLists {
    std::vector<Document> train, validation;
    std::vector<RowOfDocuments> rows;  // of those that train
};
// What does not fit into `window` tokens is cut, and documents of which nothing is left to ask for are left
// out: a line on standard error says how many. Failure where none is left.
std::vector<Document> fit_documents(std::vector<Document> documents, const DocumentModel& model,
                                    std::int64_t window, const std::string& path);
// Of these the first nine of ten train and the others validate; of fewer than ten, the last; of a single one,
// none.
DocumentLists cut_documents(std::vector<Document> documents, const DocumentModel& model, std::int64_t window,
                            const std::string& path);

// Gives each document that trains a row of `window` tokens, or with `packed` the first that has room for it.
void lay_out_rows(DocumentLists& lists, const DocumentModel& model, std::int64_t window, bool packed);

// A line on standard error: how full the rows are.
void tell_packing(const std::string& path, const DocumentLists& lists, const DocumentModel& model,
                  std::int64_t window);

// The shortest window that holds the longest document, of at most `most` tokens, a multiple of 8.
std::int64_t document_window(const std::vector<Document>& documents, const DocumentModel& model,
                             std::int64_t most);

// Every step takes the next rows of an order that each epoch shuffles: all follows from seed and step, so
// that a resumed run goes on as if it had never ended. Keeps `model`, which the trainer updates for
// validation.
std::unique_ptr<Lesson> document_lesson(const Context& context, Model model, volta_trainer* trainer,
                                        const DocumentModel& kind, DocumentLists documents);

}  // namespace voltac
