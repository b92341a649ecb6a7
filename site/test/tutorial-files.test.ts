import { readdirSync, readFileSync } from 'node:fs'
import { basename, extname } from 'node:path'
import { expect, it } from 'vitest'
import { filesOfPage, filesOfTutorial } from './tutorial-files.ts'

it('a block of code with the name of a file is a program, and another is none', () => {
  const page =
    '```js\n// a/b.mjs\nx()\n```\n```php\n<?php // c.php\ny();\n```\n```sh\nnpm start\n```\n```python\n# d.py\nz()\n```\n'
  expect([...filesOfPage(page)]).toEqual([
    ['a/b.mjs', '// a/b.mjs\nx()\n'],
    ['c.php', '<?php // c.php\ny();\n'],
    ['d.py', '# d.py\nz()\n'],
  ])
})

it('every tutorial has a test, and every program of a tutorial is run', () => {
  const tests = readFileSync(new URL('tutorials.slow.test.ts', import.meta.url), 'utf8')
  const names = readdirSync(new URL('../../docs/tutorials/', import.meta.url))
    .map((file) => file.replace(/\.md$/, ''))
    .filter((name) => name !== 'README')
  expect(names.length).toBeGreaterThan(0)
  for (const name of names) {
    expect(tests).toContain(`'${name}'`)
    const unused = [...filesOfTutorial(name).keys()].filter(
      (file) => !tests.includes(basename(file, extname(file))),
    )
    expect([name, unused]).toEqual([name, []])
  }
})
