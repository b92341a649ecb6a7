/**
 * Links lead somewhere: those between documents, and those from sources to docs/reference. A link that
 * names a heading needs that heading.
 */
import { posix } from 'node:path'
import { expect, it } from 'vitest'
import { anchorsOf, isThere, projectFiles, read } from './project-files.ts'

// It holds links that are wrong on purpose.
const files = projectFiles().filter((path) => path !== 'scripts/links.test.ts')

interface Link {
  readonly line: number
  /** From the root of the project. */
  readonly file: string
  readonly anchor: string | undefined
}

/** Of a document the relative links, of a source what it names in docs/reference. */
function linksOf(path: string, text: string): Link[] {
  return text.split('\n').flatMap((content, i) => {
    const targets = path.endsWith('.md')
      ? [...content.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target)
      : [...content.matchAll(/docs\/reference\/[\w.-]*[\w](#[\w-]+)?/g)].map(([whole]) => whole)
    return targets
      .filter((target) => !/^[a-z]+:|^\//i.test(target))
      .map((target) => {
        const [file = '', anchor] = target.split('#')
        const folder = path.endsWith('.md') ? posix.dirname(path) : '.'
        return { line: i + 1, file: file === '' ? path : posix.join(folder, file), anchor }
      })
  })
}

function findBroken(path: string, text: string): string[] {
  return linksOf(path, text)
    .filter(({ file, anchor }) => {
      if (!isThere(file)) return true
      return anchor !== undefined && file.endsWith('.md') && !anchorsOf(read(file)).has(anchor)
    })
    .map(({ line, file, anchor }) => `${path}:${line}: ${file}${anchor ? `#${anchor}` : ''}`)
}

it('every link in documents, and from sources to the reference, leads to an existing page and heading', () => {
  expect(files.filter((path) => path.startsWith('docs/reference/')).length).toBeGreaterThan(10)
  expect(files.flatMap((path) => findBroken(path, read(path)))).toEqual([])
})

it('a link to a missing page or heading is found', () => {
  const source = 'packages/server/src/a.ts'
  expect(findBroken(source, '// docs/reference/webhooks.md#ordering')).toEqual([])
  expect(findBroken(source, '// (docs/reference/webhooks.md).')).toEqual([])
  expect(findBroken(source, '\n// docs/reference/webhooks.md#disorder')).toEqual([
    `${source}:2: docs/reference/webhooks.md#disorder`,
  ])
  expect(findBroken(source, '// docs/reference/nothing.md')).toEqual([
    `${source}:1: docs/reference/nothing.md`,
  ])
  expect(findBroken('docs/a.md', '[x](reference/webhooks.md#retries) [y](https://x.test)')).toEqual(
    [],
  )
  expect(findBroken('docs/a.md', '[x](b.md)')).toEqual(['docs/a.md:1: docs/b.md'])
})
