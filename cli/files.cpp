#include "cli/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cli/support.h"
#include "cli/text.h"

namespace voltac {

// --- reading

std::string shown_name(const std::string& path) { return path == kStandardStream ? "standard input" : path; }

std::string read_text(const std::string& path) {
    const std::string name = shown_name(path);
    const bool streams = path == kStandardStream;
    struct stat info;
    if (!streams && stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode))
        failure(name + ": is a directory, not a text file");
    std::FILE* file = streams ? stdin : std::fopen(path.c_str(), "rb");
    if (file == nullptr) failure(name + ": " + std::strerror(errno));
    std::string text;
    char block[1 << 16];
    std::size_t count;
    while ((count = std::fread(block, 1, sizeof block, file)) > 0) text.append(block, count);
    const int error = std::ferror(file) ? errno : 0;
    if (!streams) std::fclose(file);
    if (error != 0) failure(name + ": " + std::strerror(error));
    if (text.empty()) failure(name + (streams ? ": is empty" : ": the file is empty"));
    return text;
}

// --- names

const Output kModelOutput = {"a model file", {{".volta", "a model file"}}, true};
const Output kCheckpointOutput = {"a model file", {{".volta", "a model file"}}, true, false, true, true};
const Output kConvertOutput = {"a model",
                               {{".volta", "a model file"},
                                {".safetensors", "safetensors"},
                                {".onnx", "ONNX"},
                                {".gguf", "GGUF"},
                                {".adapter", "LoRA adapters"}},
                               false,
                               true,
                               true};
const Output kConfigOutput = {"a config.json", {{".json", "a config.json"}}, false};
const Output kArrayOutput = {"an array of NumPy", {{".npy", "an array of NumPy"}}, false};
const Output kReportOutput = {"a page", {{".html", "a page"}}, false};
const Output kPictureOutput = {"a picture", {{".svg", "a picture"}}, false};
const Output kProfileOutput = {"a profile", {{".json", "a trace"}, {".html", "a report"}}, false};

namespace {

// Names of other formats, under which nobody looks for a model file.
constexpr Ending kForeign[] = {
    {".safetensors", "safetensors"},
    {".gguf", "GGUF"},
    {".ggml", "GGML"},
    {".bin", "weights of llama2.c or PyTorch"},
    {".pt", "a checkpoint of PyTorch"},
    {".pth", "a checkpoint of PyTorch"},
    {".ckpt", "a checkpoint of PyTorch"},
    {".pkl", "a pickle"},
    {".pickle", "a pickle"},
    {".onnx", "ONNX"},
    {".tflite", "TensorFlow Lite"},
    {".pb", "TensorFlow"},
    {".ort", "ONNX"},
    {".ptl", "PyTorch"},
    {".pte", "PyTorch"},
    {".pdparams", "Paddle"},
    {".llamafile", "llamafile"},
    {".joblib", "a pickle"},
    {".engine", "TensorRT"},
    {".h5", "HDF5"},
    {".hdf5", "HDF5"},
    {".keras", "Keras"},
    {".msgpack", "Flax"},
    {".npy", "NumPy"},
    {".npz", "NumPy"},
    {".mlmodel", "Core ML"},
    {".mlpackage", "Core ML"},
    {".json", "JSON"},
    {".jsonl", "JSON"},
    {".yaml", "YAML"},
    {".yml", "YAML"},
    {".xml", "XML"},
    {".html", "a page"},
    {".csv", "a table"},
    {".txt", "a text"},
    {".md", "a text"},
    {".log", "a text"},
    {".zip", "an archive"},
    {".tar", "an archive"},
    {".gz", "an archive"},
    {".bz2", "an archive"},
    {".xz", "an archive"},
    {".zst", "an archive"},
};

std::string base_name(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? path : path.substr(slash + 1);
}

// "a model file (.volta) or safetensors (.safetensors)"
std::string choices_of(const Output& output) {
    std::string text;
    for (const Ending& each : output.endings)
        text += (text.empty() ? "" : " or ") + std::string(each.what) + " (" + each.ending + ")";
    return text;
}

}  // namespace

bool is_folder(const std::string& path) {
    struct stat info;
    return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

bool has_ending(const std::string& path, const char* ending) {
    const std::string name = base_name(path);
    const std::size_t bytes = std::strlen(ending);
    if (name.size() <= bytes) return false;
    return std::equal(
        name.end() - static_cast<std::ptrdiff_t>(bytes), name.end(), ending,
        [](char a, char b) { return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b; });
}

void check_name(const std::string& label, const std::string& path, const Output& output) {
    if (path == kStandardStream)
        usage_error(label + " is '-', but " + output.what +
                    " is not written to standard output; a file of that name is ./-");
    for (const Ending& own : output.endings)
        if (has_ending(path, own.ending)) return;
    const std::string name = base_name(path);
    if (output.bare_names && name.find('.', name.find_first_not_of('.')) == std::string::npos) return;
    if (!output.other_names) {
        std::string endings;
        for (const Ending& own : output.endings)
            endings += (endings.empty()                  ? ""
                        : &own == &output.endings.back() ? " or "
                                                         : ", ") +
                       std::string(own.ending) + " (" + own.what + ")";
        usage_error(label + " is '" + path + "', it must end with " + endings);
    }
    for (const Ending& foreign : kForeign)
        if (has_ending(path, foreign.ending))
            usage_error(formatted("%s is '%s', a name of %s, which is not written; what can be written is %s",
                                  label.c_str(), path.c_str(), foreign.what, choices_of(output).c_str()));
}

// --- writing

namespace {

std::string folder_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

// A file that is there is replaced in its own folder, behind all links to it.
std::string resolved(const std::string& path) {
    char target[PATH_MAX];
    struct stat info;
    const bool is_link = lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode);
    return is_link && realpath(path.c_str(), target) != nullptr ? target : path;
}

const char* kind_of(const struct stat& info) {
    if (S_ISDIR(info.st_mode)) return "it is a directory";
    if (S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode)) return "it is a device, not a regular file";
    if (S_ISFIFO(info.st_mode)) return "it is a pipe, not a regular file";
    if (S_ISSOCK(info.st_mode)) return "it is a socket, not a regular file";
    return "it is not a regular file";
}

// Why no new file can take the place of the one that is there; NULL: nothing is known.
const char* why_kept(const std::string& path, const struct stat& file) {
    struct statx info;
    if (statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, 0, &info) == 0) {
        const auto set = info.stx_attributes & info.stx_attributes_mask;
        if ((set & STATX_ATTR_MOUNT_ROOT) != 0)  // as files are that are lent to a container
            return "it is a mount point, which no new file can replace";
        if ((set & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND)) != 0) return "it is immutable or append-only";
    }
    struct stat folder;
    const uid_t user = geteuid();
    if (stat(folder_of(path).c_str(), &folder) == 0 && (folder.st_mode & S_ISVTX) != 0 && user != 0 &&
        user != file.st_uid && user != folder.st_uid)
        return "it belongs to somebody else, in a folder that lets nobody replace another's files";
    return nullptr;
}

// A temporary file has the name that the library's have, "<path>.tmp-<process>-<number>", and like theirs is
// locked while it is written: one whose process is gone and whose lock is free was left behind.

constexpr char kTemporary[] = ".tmp-";
constexpr char kDigits[] = "0123456789";

// A new file beside `path`, to become it. -1: errno says why there is none.
int open_temporary(const std::string& path, std::string& name) {
    for (int number = 0; number < 10000; ++number) {
        name = path + formatted("%s%ld-%d", kTemporary, static_cast<long>(getpid()), number);
        const int file = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file < 0 && errno != EEXIST) return -1;
        if (file < 0) continue;
        flock(file, LOCK_EX | LOCK_NB);
        struct stat info;
        if (fstat(file, &info) != 0 || info.st_nlink > 0) return file;
        close(file);  // before it had its lock somebody took it for one that was left
    }
    return -1;
}

// The process that made `entry`, a temporary file whose name begins with `begin`; 0: it is none.
long maker_of(const char* entry, const std::string& begin) {
    if (std::strncmp(entry, begin.c_str(), begin.size()) != 0) return 0;
    const char* const process = entry + begin.size();
    const std::size_t digits = std::strspn(process, kDigits);
    if (digits == 0 || digits > 9 || process[digits] != '-') return 0;
    const char* const number = process + digits + 1;
    const bool is_number = *number != '\0' && number[std::strspn(number, kDigits)] == '\0';
    return is_number ? std::strtol(process, nullptr, 10) : 0;
}

// What processes that are gone have left of this name. This process's own number may have been another's.
void remove_left_files(const std::string& path) {
    const std::string begin = base_name(path) + kTemporary;
    DIR* const folder = opendir(folder_of(path).c_str());
    if (folder == nullptr) return;
    while (const dirent* entry = readdir(folder)) {
        const auto process = static_cast<pid_t>(maker_of(entry->d_name, begin));
        if (process <= 0 || (process != getpid() && (kill(process, 0) == 0 || errno != ESRCH))) continue;
        const int file =
            openat(dirfd(folder), entry->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
        struct stat info;
        if (file >= 0 && fstat(file, &info) == 0 && S_ISREG(info.st_mode) &&
            flock(file, LOCK_EX | LOCK_NB) == 0)
            unlinkat(dirfd(folder), entry->d_name, 0);
        if (file >= 0) close(file);
    }
    closedir(folder);
}

}  // namespace

void check_writable(const char* option, const std::string& path) {
    const auto refuse = [&](const std::string& why) {
        failure(std::string(option) + ": cannot write '" + path + "': " + why);
    };
    struct stat info;
    const std::string target = resolved(path);
    if (stat(target.c_str(), &info) == 0) {
        if (!S_ISREG(info.st_mode)) refuse(kind_of(info));
        if (faccessat(AT_FDCWD, target.c_str(), W_OK, AT_EACCESS) != 0) refuse(std::strerror(errno));
        if (const char* why = why_kept(target, info)) refuse(why);
    }
    struct stat stream;
    for (const int number : {1, 2})  // also as /dev/stdout, where the shell has sent that to a file
        if (fstat(number, &stream) == 0 && stat(target.c_str(), &info) == 0 && info.st_dev == stream.st_dev &&
            info.st_ino == stream.st_ino)
            refuse(number == 1 ? "standard output goes there" : "standard error goes there");
    const std::string folder = folder_of(target);
    if (stat(folder.c_str(), &info) != 0) refuse("the folder " + folder + ": " + std::strerror(errno));
    if (!S_ISDIR(info.st_mode)) refuse(folder + " is not a folder");
    if (base_name(target).empty()) refuse("it is the name of a folder");
    // Everything else that may be in the way shows when the file is made that would take its place: a file
    // system that is read-only or full of files, a name that is too long, a quota.
    std::string temporary;
    const int file = open_temporary(target, temporary);
    if (file < 0)
        refuse(errno == EACCES || errno == EROFS
                   ? "the folder " + folder + " cannot be written: " + std::strerror(errno)
                   : std::strerror(errno));
    close(file);
    unlink(temporary.c_str());
}

bool same_file(const std::string& a, const std::string& b) {
    if (a == b) return true;
    struct stat one, other;
    if (stat(a.c_str(), &one) == 0 && stat(b.c_str(), &other) == 0)
        return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
    if (base_name(a) != base_name(b)) return false;
    return stat(folder_of(a).c_str(), &one) == 0 && stat(folder_of(b).c_str(), &other) == 0 &&
           one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

void write_text(const std::string& path, const std::string& text) {
    const std::string target = resolved(path);
    remove_left_files(target);
    std::string temporary;
    const int file = open_temporary(target, temporary);
    const auto give_up = [&](int open_file) {
        const int error = errno;
        if (open_file >= 0) close(open_file);
        unlink(temporary.c_str());
        failure(path + ": " + std::strerror(error));
    };
    if (file < 0) failure(path + ": " + std::strerror(errno));
    for (std::size_t done = 0; done < text.size();) {
        const ssize_t count = write(file, text.data() + done, text.size() - done);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) give_up(file);
        done += static_cast<std::size_t>(count);
    }
    if (fsync(file) != 0) give_up(file);
    if (close(file) != 0 || rename(temporary.c_str(), target.c_str()) != 0) give_up(-1);
}

}  // namespace voltac
