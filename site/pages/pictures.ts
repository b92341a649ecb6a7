/** Pictures of both themes: documents choose by the reader's system, the site by its own switch. */
import { posix } from 'node:path'

/** Where pictures of `docs/pictures` are on the site. */
const ADDRESS = '/pictures/'

/** `<picture>` of a document becomes two pictures, of which Starlight hides one. */
export function mapPictures(markdown: string, from: string): string {
  return markdown.replaceAll(/<picture>[\s\S]*?<\/picture>/g, (picture) => {
    const dark = /<source[^>]*prefers-color-scheme: dark[^>]*srcset="([^"]+)"/.exec(picture)?.[1]
    const light = /<img[^>]*src="([^"]+)"/.exec(picture)?.[1]
    const alt = /<img[^>]*alt="([^"]*)"/.exec(picture)?.[1] ?? ''
    if (dark === undefined || light === undefined)
      throw new Error(`${from}: a picture without a dark or a light one: ${picture}`)
    return pictureOf({ light: addressOf(light, from), dark: addressOf(dark, from), alt })
  })
}

export function pictureOf(o: {
  readonly light: string
  readonly dark: string
  readonly alt: string
}): string {
  return `<img class="shot dark:sl-hidden" src="${o.light}" alt="${o.alt}" loading="lazy"><img class="shot light:sl-hidden" src="${o.dark}" alt="${o.alt}" loading="lazy">`
}

function addressOf(path: string, from: string): string {
  const file = posix.join(posix.dirname(from), path)
  if (!file.startsWith('docs/pictures/'))
    throw new Error(`${from}: ${path} is not in docs/pictures`)
  return ADDRESS + posix.basename(file)
}
