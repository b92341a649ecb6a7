/** The pages that are documents of the repository: `docs/` and the few beside it that users read. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mapLinks, outsideDocs, slugOfFile } from './links.ts'
import { anchorOf, plain, type SitePage } from './page.ts'
import { mapPictures } from './pictures.ts'

const root = new URL('../../', import.meta.url)
const DESCRIPTION_CHARS_MAX = 180

export function documentPages(): SitePage[] {
  const inDocs = readdirSync(new URL('docs/', root), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md') && path !== 'errors.md')
    .map((path) => `docs/${path.replaceAll('\\', '/')}`)
    .sort()
  const pages = [...inDocs, ...Object.keys(outsideDocs)].map(pageOf)
  return [...pages, startPage(), adrPage(pages)]
}

export function readDocument(path: string): string {
  return readFileSync(new URL(path, root), 'utf8').replaceAll(/<!--[\s\S]*?-->\n*/g, '')
}

export function existsInRepository(path: string): boolean {
  return existsSync(new URL(path, root))
}

function pageOf(path: string): SitePage {
  const text = readDocument(path)
  const [, title] = /^# (.+)$/m.exec(text) ?? []
  const slug = slugOfFile(path)
  if (title === undefined || slug === undefined) throw new Error(`${path} has no title`)
  return { slug, title: plain(title), ...bodyOf(text.replace(/^# .+\n+/m, ''), path) }
}

function bodyOf(text: string, path: string): Pick<SitePage, 'description' | 'markdown'> {
  return {
    description: describe(text),
    markdown: mapPictures(mapLinks(text, path), path),
  }
}

/** The first paragraph, as far as whole sentences of it fit. */
function describe(text: string): string {
  const isProse = (block: string) => /^[\p{L}`"*[]/u.test(block)
  const paragraph = plain(text.split(/\n{2,}/).find(isProse) ?? '')
  if (paragraph.length <= DESCRIPTION_CHARS_MAX) return paragraph
  const fitting = paragraph.slice(0, DESCRIPTION_CHARS_MAX)
  const end = fitting.lastIndexOf('. ')
  return end > 0 ? fitting.slice(0, end + 1) : `${fitting.slice(0, fitting.lastIndexOf(' '))} …`
}

const START = 'Running in five minutes'

/** A section of README.md is a page of its own. */
function startPage(): SitePage {
  const [, section] = readDocument('README.md').split(new RegExp(`^## ${START}$`, 'm'))
  if (section === undefined) throw new Error(`README.md has no heading "${START}"`)
  const text = `${section.split(/^## /m)[0]?.trim()}\n`
  // Links to the section lead to the page.
  const anchor = `<span id="${anchorOf(START)}"></span>\n\n`
  const { description, markdown } = bodyOf(text, 'README.md')
  return { slug: 'start', title: 'Start in five minutes', description, markdown: anchor + markdown }
}

/** The list of the decisions. */
function adrPage(pages: readonly SitePage[]): SitePage {
  const decisions = pages.filter(({ slug }) => slug.startsWith('adr/'))
  return {
    slug: 'adr',
    title: 'Decisions',
    description: 'Decisions that someone may want to reverse, each with its reasons.',
    markdown: `Decisions that someone may want to reverse, each with its reasons.

${decisions.map(({ slug, title }) => `- [${title}](/${slug}/)`).join('\n')}
`,
  }
}
