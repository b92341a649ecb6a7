/** A file that a message carries, and how it is shown where the sender left that open. */
import { detectMimeType } from 'nodemailer/lib/mime-funcs/mime-types'

export interface Attachment {
  readonly filename: string
  /** Base64 without white space. */
  readonly content: string
  readonly type?: string | undefined
  /** Left out: `inline` where the HTML shows it, else `attachment`. */
  readonly disposition?: 'attachment' | 'inline' | undefined
  /** Without angle brackets; the HTML refers to it as `cid:…`. */
  readonly contentId?: string | undefined
}

const MEDIA_TYPE = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}(?:;[\x20-\x7e]{0,500})?$/

export function dispositionOf(
  { disposition, contentId }: Attachment,
  html = '',
): 'attachment' | 'inline' {
  const isShown = contentId !== undefined && html.includes(`cid:${contentId}`)
  return disposition ?? (isShown ? 'inline' : 'attachment')
}

/** As given, else by the name, and one of a part that has no parts. */
export function mediaTypeOf({ type: given, filename }: Attachment): string {
  const type = given ?? detectMimeType(filename)
  return isLeafType(type) ? type : 'application/octet-stream'
}

/** A multipart would be read as parts, and a message/rfc822 may not be base64 (RFC 2046 §5.2.1). */
function isLeafType(type: string): boolean {
  return MEDIA_TYPE.test(type) && !/^(multipart|message)\//i.test(type)
}
