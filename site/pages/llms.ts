/** `llms.txt` lists the pages as Markdown for programs that read text; `llms-full.txt` has all of them. */
import type { Group, Link } from '../sidebar.ts'
import { addressOf, type SitePage } from './page.ts'

const SUMMARY =
  'Self-hostable, multi-tenant email delivery: one HTTP API, your own SMTP servers or relay provider, every attempt recorded, webhooks that are never lost.'

/** The same page as Markdown. */
export function markdownAddressOf(slug: string): string {
  return slug === '' ? '/index.md' : `/${slug}.md`
}

export function llmsIndex(pages: readonly SitePage[], sidebar: readonly Group[]): string {
  const bySlug = new Map(pages.map((page) => [addressOf(page.slug), page]))
  const lineOf = ({ link }: Link): string => {
    const page = bySlug.get(link)
    if (page === undefined) throw new Error(`no page ${link}`)
    return `- [${page.title}](${markdownAddressOf(page.slug)}): ${page.description}`
  }
  const linesOf = (items: readonly (Group | Link)[]): string[] =>
    items.flatMap((item) => ('link' in item ? [lineOf(item)] : linesOf(item.items)))
  const groups = sidebar.map(({ label, items }) => `## ${label}\n\n${linesOf(items).join('\n')}`)
  return `# Postrider

> ${SUMMARY}

All pages in one file: [llms-full.txt](/llms-full.txt). The API: [openapi.json](/openapi.json).

${groups.join('\n\n')}
`
}

export function llmsFull(pages: readonly SitePage[]): string {
  return `${pages.filter(isForUsers).map(asMarkdown).join('\n---\n\n')}`
}

export function asMarkdown({ title, markdown }: SitePage): string {
  return `# ${title}\n\n${markdown.replaceAll(/<\/?code>/g, '`').replaceAll(/<\/?(?:p|span|div|a|img|section)\b[^>]*>/g, '')}`
}

/** How Postrider is made is of no use to a program that calls it. */
function isForUsers({ slug }: SitePage): boolean {
  return (
    !/^(adr|architecture|contributing|testing|adding-a-relay|changelog)(\/|$)/.test(slug) &&
    slug !== ''
  )
}
