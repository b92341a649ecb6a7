/**
 * Writes the pages as Markdown into `.pages/`, where Astro reads them, and what is served as it is into
 * `.public/`. Both folders are made anew.
 */
import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { allPages } from './pages/all.ts'
import { outsideCode } from './pages/links.ts'
import { asMarkdown, llmsFull, llmsIndex, markdownAddressOf } from './pages/llms.ts'
import { keepDatesWhole, type SitePage } from './pages/page.ts'
import { sidebarOf } from './sidebar.ts'

const site = fileURLToPath(new URL('.', import.meta.url))
const docs = fileURLToPath(new URL('../docs/', import.meta.url))
const pagesDir = join(site, '.pages')
const publicDir = join(site, '.public')

for (const folder of [pagesDir, publicDir]) rmSync(folder, { recursive: true, force: true })
const pages = allPages()
const sidebar = sidebarOf(pages)
for (const page of pages) {
  write(join(pagesDir, `${page.slug === '' ? 'index' : page.slug}.md`), withFrontMatter(page))
  write(join(publicDir, markdownAddressOf(page.slug)), asMarkdown(page))
}
write(join(pagesDir, 'sidebar.json'), JSON.stringify(sidebar))
write(join(publicDir, 'llms.txt'), llmsIndex(pages, sidebar))
write(join(publicDir, 'llms-full.txt'), llmsFull(pages))
cpSync(join(site, 'public'), publicDir, { recursive: true })
cpSync(join(docs, 'openapi.json'), join(publicDir, 'openapi.json'))
const pictures = join(docs, 'pictures')
if (existsSync(pictures)) cpSync(pictures, join(publicDir, 'pictures'), { recursive: true })

/** JSON is YAML, too. */
function withFrontMatter({ slug, title, description, markdown, front }: SitePage): string {
  const id = slug === '' ? 'index' : slug
  return `---\n${JSON.stringify({ title, description, slug: id, ...front }, null, 2)}\n---\n\n${outsideCode(markdown, keepDatesWhole)}`
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}
