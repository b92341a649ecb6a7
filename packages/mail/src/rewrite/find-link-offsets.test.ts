import fc from 'fast-check'
import { Parser } from 'htmlparser2'
import { describe, expect, it } from 'vitest'
import { findLinkOffsets, LINKS_MAX, URL_CHARS_MAX } from './find-link-offsets.ts'
import { nastyHtml } from './nasty-html.fixture.ts'
import { spliceHtml } from './splice-html.ts'

const PIXEL = 'https://t.example/o/1.gif'
const linkOf = (link: number) => `https://t.example/c/${link}`

function rewrite(html: string): string {
  return spliceHtml(html, findLinkOffsets(html), { pixel: PIXEL, linkOf })
}

/** What a reader of HTML makes of it; the pixel left out. */
function documentOf(html: string): unknown[] {
  const seen: unknown[] = []
  const addText = (text: string) => {
    const last = seen.at(-1)
    if (typeof last === 'string') seen[seen.length - 1] = last + text
    else seen.push(text)
  }
  let isPixel = false
  const parser = new Parser({
    onopentag(name, attributes) {
      isPixel = attributes.src === PIXEL
      if (!isPixel) seen.push([name, Object.entries(attributes)])
    },
    onclosetag(name) {
      if (!isPixel) seen.push(['/', name])
      isPixel = false
    },
    ontext: addText,
    oncomment: (text) => seen.push(['comment', text]),
    onprocessinginstruction: (_, text) => seen.push(['declaration', text]),
  })
  parser.write(html)
  parser.end()
  return seen
}

/**
 * Whether `<title>` in `<svg>` is raw text depends on the elements between them: a `<p>` ends the `<svg>`
 * (HTML standard, 13.2.6.5). The reader of these tests does not know that, so it cannot judge it.
 */
const RAW_TEXT_IN_SVG =
  /<(?:svg|math)[\s\S]*<(?:title|textarea|style|script|xmp|iframe|noframes|plaintext)/i

/** Hostile and careless HTML. */
const html = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        ...Object.values(nastyHtml).map(([marked]) => marked.replace('|', '')),
        '<a href="', "<a href='", '<a href=', 'https://a.example/', 'HTTP://b.example/?a&amp;b', '">', "'>", '>', '</a>', '<a ', ' data-pm-no-track', '<!--', '-->', '<![CDATA[', ']]>', '<![endif]', '</body>', '<body>', '</html', '<style>', '</style>', '<title>', '</title>', '<script', '</script', '<textarea>', '</textarea', '<svg>', '&', '&amp', '&#', '<', '/', '=', '"', "'", ' ', '\n', 'ü', '🎉', '<plaintext', '<?', '<!',
      ), // biome-ignore format: a list
      fc.string({ maxLength: 8 }),
    ),
    { maxLength: 14 },
  )
  .map((pieces) => pieces.join(''))
  .filter((source) => !RAW_TEXT_IN_SVG.test(source))

describe('link offsets in difficult HTML', () => {
  it.each(Object.entries(nastyHtml))('are correct: %s', (_, [marked, urls = []]) => {
    const source = marked.replace('|', '')
    const places = findLinkOffsets(source)
    expect(places.urls).toEqual(urls)
    expect(places.pixelAt).toBe(marked.indexOf('|'))
    expect(documentOf(rewrite(source)).length).toBe(documentOf(source).length)
  })
})

it('change only the values of links, and add the pixel', () => {
  fc.assert(
    fc.property(html, (source) => {
      const { links, pixelAt } = findLinkOffsets(source)
      let rest = rewrite(source)
      let at = 0
      const expected = [...links, [pixelAt, pixelAt, -1] as const].sort(
        (a, b) => a[0] - b[0] || a[2] - b[2],
      )
      for (const [start, end, link] of expected) {
        const written =
          link < 0 ? (/^<img [^>]*>/.exec(rest.slice(start - at))?.[0] ?? 'no pixel') : linkOf(link)
        expect(rest.slice(0, start - at)).toBe(source.slice(at, start))
        expect(rest.slice(start - at)).toSatisfy((text: string) => text.startsWith(written))
        rest = rest.slice(start - at + written.length)
        at = end
      }
      expect(rest).toBe(source.slice(at))
    }),
    { numRuns: 3_000 },
  )
})

it('keep the document, except for the targets of links and the pixel', () => {
  fc.assert(
    fc.property(html, (source) => {
      const { urls } = findLinkOffsets(source)
      const originals = new Map(urls.map((url, link) => [linkOf(link), url]))
      const backToOriginal = (seen: unknown): unknown => {
        if (!Array.isArray(seen) || (seen[0] !== 'a' && seen[0] !== 'area')) return seen
        const [name, attributes] = seen as [string, [string, string][]]
        return [
          name,
          attributes.map(([key, value]) => [
            key,
            key === 'href' ? trimmed(originals.get(value) ?? value) : value,
          ]),
        ]
      }
      const trimHref = (seen: unknown): unknown => {
        if (!Array.isArray(seen) || (seen[0] !== 'a' && seen[0] !== 'area')) return seen
        const [name, attributes] = seen as [string, [string, string][]]
        return [
          name,
          attributes.map(([key, value]) => [key, key === 'href' ? trimmed(value) : value]),
        ]
      }
      expect(documentOf(rewrite(source)).map(backToOriginal)).toEqual(
        documentOf(source).map(trimHref),
      )
    }),
    { numRuns: 3_000 },
  )
})

const trimmed = (url: string) => url.replace(/[\t\n\r]/g, '').trim()

it('add a pixel that is shown once', () => {
  fc.assert(
    fc.property(html, (source) => {
      let pixels = 0
      const parser = new Parser({
        onopentag: (name, { src }) => {
          if (name === 'img' && src === PIXEL) pixels += 1
        },
      })
      parser.write(rewrite(source))
      parser.end()
      expect(pixels).toBe(1)
    }),
    { numRuns: 3_000 },
  )
})

it('are the same links again after the rewriting', () => {
  fc.assert(
    fc.property(html, (source) => {
      const first = findLinkOffsets(source)
      const again = findLinkOffsets(spliceHtml(source, first, { linkOf }))
      expect(again.links.map(([, , link]) => link)).toEqual(first.links.map(([, , link]) => link))
      expect(again.urls).toEqual(first.urls.map((_, link) => linkOf(link)))
    }),
    { numRuns: 2_000 },
  )
})

describe('limits of tracked links', () => {
  it(`track ${LINKS_MAX} links, and none of one more, with the pixel in both cases`, () => {
    const most = '<a href="https://a.example/">x</a>'.repeat(LINKS_MAX)
    expect(findLinkOffsets(most)).toMatchObject({
      hasTooManyLinks: false,
      urls: ['https://a.example/'],
    })
    expect(findLinkOffsets(most).links).toHaveLength(LINKS_MAX)
    const more = `${most}<a href="https://b.example/">x</a>`
    expect(findLinkOffsets(more)).toEqual({
      links: [],
      urls: [],
      pixelAt: more.length,
      hasTooManyLinks: true,
    })
  })

  it('count a URL as it stands in a redirect', () => {
    const plain = `https://a.example/${'a'.repeat(URL_CHARS_MAX - 18)}`
    expect(findLinkOffsets(`<a href="${plain}">`).urls).toEqual([plain])
    expect(findLinkOffsets(`<a href="${plain}a">`).urls).toEqual([])
    expect(findLinkOffsets(`<a href="https://a.example/${'ü'.repeat(400)}">`).urls).toEqual([])
  })
})
