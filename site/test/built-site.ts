/** Looks at the files of a built site. */

/** Links that lead to no file, or to no element of that id: `page: link`. */
export function findBroken(files: readonly string[], read: (file: string) => string): string[] {
  const known = new Set(files)
  const idsByFile = new Map<string, Set<string>>()
  const idsOf = (file: string) => {
    const ids = idsByFile.get(file) ?? findIds(read(file))
    idsByFile.set(file, ids)
    return ids
  }
  const pages = files.filter((file) => file.endsWith('.html'))
  const inPages = pages.flatMap((file) =>
    linksOf(read(file))
      .filter((link) => !leads(link, `/${file}`, known, idsOf))
      .map((link) => `${file}: ${link}`),
  )
  const inText = files
    .filter((file) => file === 'llms.txt' || (file.endsWith('.md') && known.has(file)))
    .flatMap((file) =>
      [
        ...read(file)
          .replaceAll(/^```[\s\S]*?^```|`[^`\n]*`/gm, '')
          .matchAll(/\]\((\/[^)\s]*)\)/g),
      ]
        .map(([, link = '']) => link)
        .filter((link) => !leads(link, `/${file}`, known, idsOf))
        .map((link) => `${file}: ${link}`),
    )
  return [...inPages, ...inText]
}

function leads(
  link: string,
  from: string,
  known: ReadonlySet<string>,
  idsOf: (file: string) => ReadonlySet<string>,
): boolean {
  const { origin, pathname, hash } = new URL(
    link,
    `https://site.test${from.replace(/index\.html$/, '')}`,
  )
  // Another host: whether it answers is not for a test to ask.
  if (origin !== 'https://site.test') return true
  const path = decodeURIComponent(pathname).slice(1)
  const file = path === '' || path.endsWith('/') ? `${path}index.html` : path
  if (!known.has(file)) return false
  return (
    hash === '' || !file.endsWith('.html') || idsOf(file).has(decodeURIComponent(hash.slice(1)))
  )
}

function linksOf(html: string): string[] {
  return [...html.matchAll(/<(?:a|img|link|script|source)\b[^>]*?\s(?:href|src|srcset)="([^"]+)"/g)]
    .map(([, link = '']) => link.replaceAll('&amp;', '&').replaceAll('&#38;', '&'))
    .filter((link) => !/^(?:data|mailto|javascript):/.test(link))
}

function findIds(html: string): Set<string> {
  return new Set([...html.matchAll(/\sid="([^"]+)"/g)].map(([, id = '']) => id))
}

/** What a browser would load from another host: `file: address`. A link is followed by people only. */
export function findOutside(file: string, text: string): string[] {
  const loaded = file.endsWith('.css')
    ? [...text.matchAll(/(?:url\(\s*["']?|@import\s+["'])((?:https?:)?\/\/[^"')\s]+)/g)]
    : [
        ...text.matchAll(
          /<(?:script|img|source|iframe|video|audio)\b[^>]*?\s(?:src|srcset)="((?:https?:)?\/\/[^"]+)"/g,
        ),
        ...text.matchAll(/<link\b[^>]*?\shref="((?:https?:)?\/\/[^"]+)"/g),
        ...text.matchAll(/url\(\s*["']?((?:https?:)?\/\/[^"')\s]+)/g),
      ]
  return loaded.map(([, address = '']) => `${file}: ${address}`)
}
