/** Writes tracking into an HTML body at the places that were found in it; the rest stays as it is. */
import type { LinkOffsets } from './find-link-offsets.ts'

export interface SpliceUrls {
  /** Left out: no pixel. */
  readonly pixel?: string
  /** Of a link by its number; left out: links stay. */
  readonly linkOf?: (link: number) => string
}

/** URLs are written as they are: without quotation marks, white space, `&`, `<` and `>`. */
export function spliceHtml(
  html: string,
  { links, pixelAt }: Pick<LinkOffsets, 'links' | 'pixelAt'>,
  { pixel, linkOf }: SpliceUrls,
): string {
  let spliced = ''
  let at = 0
  const copyTo = (end: number) => {
    spliced += html.slice(at, end)
    at = end
  }
  let pixelTag = pixel === undefined ? '' : toPixelTag(pixel)
  for (const [start, end, link] of linkOf === undefined ? [] : links) {
    if (pixelTag !== '' && pixelAt <= start) {
      copyTo(pixelAt)
      spliced += pixelTag
      pixelTag = ''
    }
    copyTo(start)
    spliced += linkOf?.(link)
    at = end
  }
  if (pixelTag !== '') {
    copyTo(pixelAt)
    spliced += pixelTag
  }
  return spliced + html.slice(at)
}

/** Of one pixel, out of the flow's way: pictures in a line would add a line below the mail. */
function toPixelTag(url: string): string {
  return `<img src="${url}" alt="" width="1" height="1" style="display:block;width:1px;height:1px;margin:-1px 0 0;padding:0;border:0">`
}
