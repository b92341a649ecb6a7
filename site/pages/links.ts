/** Where the links of the documents lead on the site. */
import { posix } from 'node:path'
import { errorCatalogue } from '../../packages/contract/src/index.ts'
import { operations } from './description.ts'
import { addressOf, anchorOf, slugOf } from './page.ts'

/** Documents outside of `docs/` that are pages, by their paths. */
export const outsideDocs: Readonly<Record<string, string>> = {
  'ARCHITECTURE.md': 'architecture',
  'CHANGELOG.md': 'changelog',
  'CONTRIBUTING.md': 'contributing',
  'SECURITY.md': 'security',
  'packages/client/README.md': 'client',
}

/** Sections of README.md that are a page of their own, by the anchors of their headings. */
export const readmeSections: Readonly<Record<string, string>> = {
  'running-in-five-minutes': 'start',
  'through-your-own-smtp-server': 'start',
  commands: 'start',
}

/** Of a file in the repository; undefined when it is no page. */
export function slugOfFile(path: string): string | undefined {
  if (Object.hasOwn(outsideDocs, path)) return outsideDocs[path]
  if (path === 'README.md') return ''
  if (!path.startsWith('docs/')) return undefined
  const inside = path.slice('docs/'.length)
  if (inside === 'adr' || inside === 'adr/') return 'adr'
  if (!inside.endsWith('.md')) return undefined
  return inside
    .replace(/\.md$/, '')
    .replace(/(^|\/)README$/, '')
    .replaceAll('_', '-')
    .toLowerCase()
}

/** `markdown` of the file `from`, with links to pages of the site. A link to a source becomes its text. */
export function mapLinks(markdown: string, from: string): string {
  return outsideCode(markdown, (text) =>
    text.replaceAll(/\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g, (whole, words, target) => {
      if (/^[a-z]+:/i.test(target)) return whole
      const address = addressOfTarget(target, from)
      return address === undefined ? words : `[${words}](${address})`
    }),
  )
}

function addressOfTarget(target: string, from: string): string | undefined {
  const [file = '', anchor] = target.split('#')
  const path = file === '' ? from : posix.join(posix.dirname(from), file)
  if (path === 'docs/openapi.json') return '/openapi.json'
  if (path === 'docs/errors.md' && anchor !== undefined && Object.hasOwn(errorCatalogue, anchor))
    return addressOf(`errors/${slugOf(anchor)}`)
  const section = anchor === undefined ? undefined : readmeSections[anchor]
  if (path === 'README.md' && section !== undefined) return `${addressOf(section)}#${anchor}`
  const slug = slugOfFile(path)
  if (slug === undefined) return undefined
  return `${addressOf(slug)}${anchor === undefined ? '' : `#${anchorOf(anchor)}`}`
}

const ids = operations.map(({ operationId }) => operationId)
/** Names of operations, where they cannot be ordinary words. */
const OPERATION = new RegExp(`\\b(?:${ids.filter((id) => /[A-Z]/.test(id)).join('|')})\\b`, 'g')

/** Text of the OpenAPI description, with links from names of operations to their pages. */
export function linkOperations(text: string): string {
  return text
    .split('`')
    .map((part, n) =>
      n % 2 === 1
        ? part
        : part
            .replaceAll('<', '&lt;')
            .replaceAll(OPERATION, (id) => `[${id}](${addressOf(`api/${slugOf(id)}`)})`),
    )
    .join('`')
}

/** Applies `change` to what is neither in a fence nor in backticks. */
export function outsideCode(markdown: string, change: (text: string) => string): string {
  return markdown
    .split(/(^```[\s\S]*?^```)/m)
    .map((part, n) => (n % 2 === 1 ? part : changeProse(part, change)))
    .join('')
}

/** The words of a link may hold code, so code is put aside and back. */
function changeProse(text: string, change: (text: string) => string): string {
  const codes: string[] = []
  const without = text.replaceAll(/`[^`\n]*`/g, (code) => `\uE000${codes.push(code) - 1}\uE000`)
  return change(without).replaceAll(/\uE000(\d+)\uE000/g, (_, n) => codes[Number(n)] ?? '')
}
