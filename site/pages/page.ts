/** A page of the site: Markdown, before Starlight makes HTML of it. */
export interface SitePage {
  /** Without slashes around it; empty for the front page. */
  readonly slug: string
  readonly title: string
  /** In the navigation, when it is shorter than the title. */
  readonly label?: string
  readonly description: string
  /** Without the title. Its links lead to pages of the site. */
  readonly markdown: string
  /** More of Starlight's front matter. */
  readonly front?: Readonly<Record<string, unknown>>
}

/** `configureSMTP` gives `configure-smtp`, and `MAIL_DELIVERED` gives `mail-delivered`. */
export function slugOf(name: string): string {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replaceAll(/[^A-Za-z0-9]+/g, '-')
    .toLowerCase()
}

/** The address of a page from the root of the site. */
export function addressOf(slug: string): string {
  return slug === '' ? '/' : `/${slug}/`
}

/** As hosts of repositories, and Starlight, make anchors of headings. */
export function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')
}

/** A cell of a table: one line, in which no pipe ends the cell. */
export function cell(text: string): string {
  return text.replaceAll(/\s+/g, ' ').replaceAll('|', '\\|')
}

/** Dates in the cells of tables: a browser would break them at their hyphens. */
export function keepDatesWhole(markdown: string): string {
  const date = /(?<=\| |; )\d{4}-\d{2}-\d{2}(?= \||; )/g
  return markdown.replaceAll(date, '<span class="date">$&</span>')
}

/** Markdown as plain text, for descriptions and titles. */
export function plain(markdown: string): string {
  return markdown
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/\*\*|`/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
}
