// The manual's search, in the place of mkdocs' own, which asks a server for its index: this one loads it as a script, which a
// page that was opened as a file may do. Pages that have all words, those with a word in their title first.
var query = decodeURIComponent((location.search.match(/[?&]q=([^&]*)/) || ["", ""])[1].replace(/\+/g, " "));
document.addEventListener("DOMContentLoaded", function () {
    var field = document.getElementById("mkdocs-search-query"), list = document.getElementById("mkdocs-search-results");
    if (!list) return;
    var script = document.createElement("script");
    script.src = base_url + "/search/index.js";
    script.onload = function () {
        function show() {
            var words = field.value.toLowerCase().split(/\s+/).filter(Boolean), found = [];
            list.textContent = "";
            if (!words.length) return;
            searchIndex.forEach(function (page) {
                var title = page.title.toLowerCase(), text = page.text.toLowerCase(), score = 0;
                for (var i = 0; i < words.length; ++i) {
                    var points = (title === words[i] ? 50 : title.indexOf(words[i]) >= 0 ? 10 : 0) +
                                 (text.indexOf(words[i]) >= 0 ? 1 : 0);
                    if (!points) return;
                    score += points;
                }
                found.push({page: page, score: score});
            });
            found.sort(function (a, b) { return b.score - a.score; }).slice(0, 50).forEach(function (one) {
                var item = document.createElement("article"), head = document.createElement("h3"), link = document.createElement("a");
                var at = one.page.text.toLowerCase().indexOf(words[0]), piece = document.createElement("p");
                link.href = base_url + "/" + one.page.location;
                link.textContent = one.page.title;
                piece.textContent = one.page.text.substr(Math.max(0, at - 60), 200);
                head.appendChild(link);
                item.appendChild(head);
                item.appendChild(piece);
                list.appendChild(item);
            });
            if (!found.length) list.textContent = "Nothing found";
        }
        if (query) field.value = query;
        field.addEventListener("input", show);
        show();
    };
    document.head.appendChild(script);
});
