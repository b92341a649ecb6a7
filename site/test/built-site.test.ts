/** What the check of the built site finds, and what it lets pass. */
import { expect, it } from 'vitest'
import { findBroken, findOutside } from './built-site.ts'

it('links to missing pages, headings and files are found', () => {
  const files: Record<string, string> = {
    'index.html':
      '<a href="/a/#b">1</a> <a href="/a/#c">2</a> <a href="d/">3</a> <img src="/e.png">',
    'a/index.html':
      '<h2 id="b">B</h2> <a href="#c">4</a> <a href="../">5</a> <a href="https://x.test/">6</a>',
    'llms.txt': '- [7](/a/) and [8](/f.md)',
  }
  const broken = findBroken(Object.keys(files), (file) => files[file] ?? '')
  expect(broken).toEqual([
    'index.html: /a/#c',
    'index.html: d/',
    'index.html: /e.png',
    'a/index.html: #c',
    'llms.txt: /f.md',
  ])
})

it('what is loaded from another host is found, and a link to one is not', () => {
  expect(
    findOutside('a.html', '<a href="https://x.test/">x</a><script src="/a.js"></script>'),
  ).toEqual([])
  expect(
    findOutside('a.html', '<link rel="icon" href="https://x.test/i"><img alt="" src="//x.test/p">'),
  ).toEqual(['a.html: //x.test/p', 'a.html: https://x.test/i'])
  expect(
    findOutside('a.css', '@import "https://x.test/a.css"; a { background: url(/b.png) }'),
  ).toEqual(['a.css: https://x.test/a.css'])
})
