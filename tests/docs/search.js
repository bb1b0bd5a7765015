// The manual's search without a browser: what it lists for some words, on a stub of what it may use.      node search.js SITE
'use strict';
const assert = require('assert'), fs = require('fs'), path = require('path'), vm = require('vm');

const site = process.argv[2];
const read = name => fs.readFileSync(path.join(site, 'search', name), 'utf8');

function found(query) {
  const make = () => ({children: [], textContent: '', appendChild(child) { this.children.push(child); }, addEventListener() {}});
  const list = make(), field = Object.assign(make(), {value: ''});
  const world = {
    base_url: '.', location: {search: '?q=' + encodeURIComponent(query).replace(/%20/g, '+')}, decodeURIComponent,
    document: {
      addEventListener: (name, run) => (assert.strictEqual(name, 'DOMContentLoaded'), world.ready = run),
      getElementById: name => ({'mkdocs-search-query': field, 'mkdocs-search-results': list})[name] || null,
      createElement: make,
      head: {appendChild(script) {
        assert.strictEqual(script.src, './search/index.js');
        vm.runInContext(read('index.js'), world);
        script.onload();
      }},
    },
  };
  vm.createContext(world);
  vm.runInContext(read('main.js'), world);
  world.ready();
  return list.children.map(item => item.children[0].children[0].href);
}

const save = found('volta_model_save');
assert.match(save[0], /^\.\/reference\/model\.html#volta_model_save$/, save.join('\n'));
assert(found('sandbox seccomp').some(link => link.startsWith('./embedding.html')));
assert.deepStrictEqual(found('nosuchwordanywhere'), []);
for (const link of found('trainer')) assert(fs.existsSync(path.join(site, link.split('#')[0])), link);
console.log('the search finds what it should');
