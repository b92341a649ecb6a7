/**
 * Checks attachments (docs/reference/limits.md#emails). Their base64 is kept as text and goes into the
 * message without being decoded, so it has to be exact. Its line ends are gone before
 * (`without-line-ends.ts`).
 */
import { attachmentBytesMax, type EmailAttachment } from '@postrider/contract'
import { checkHeaderText } from '@postrider/mail'
import type { Attachment } from '../record/email.ts'

/** Notes what is wrong with a field; `undefined` for nothing. */
export type Refuse = (path: string, problem: string | undefined) => void

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/
const MEDIA_TYPE = /^[\w!#$&^.+-]{1,100}\/[\w!#$&^.+-]{1,100}(?:;[\x20-\x7e]*)?$/
const CONTENT_ID = /^[!-;=?-~]+$/

export function checkAttachments(
  given: readonly EmailAttachment[],
  refuse: Refuse,
): readonly Attachment[] {
  const contentIds = new Set<string>()
  let bytes = 0
  const attachments = given.map((attachment, i) => {
    const path = `/attachments/${i}`
    const { filename, content, type, disposition, content_id: contentId } = attachment
    if (!isBase64(content)) refuse(`${path}/content`, 'must be base64')
    bytes += decodedBytes(content)
    refuse(`${path}/filename`, checkHeaderText(filename))
    if (type !== undefined && !MEDIA_TYPE.test(type))
      refuse(`${path}/type`, 'must be a media type such as application/pdf')
    if (contentId !== undefined) {
      if (!CONTENT_ID.test(contentId))
        refuse(`${path}/content_id`, 'must be visible ASCII without angle brackets')
      if (contentIds.has(contentId)) refuse(`${path}/content_id`, 'is given twice')
      contentIds.add(contentId)
    }
    return {
      filename,
      content,
      ...(type === undefined ? {} : { type }),
      ...(disposition === undefined ? {} : { disposition }),
      ...(contentId === undefined ? {} : { contentId }),
    }
  })
  if (bytes > attachmentBytesMax)
    refuse('/attachments', `must be at most ${attachmentBytesMax} bytes together, decoded`)
  return attachments
}

function isBase64(content: string): boolean {
  return content.length % 4 === 0 && BASE64.test(content)
}

function decodedBytes(content: string): number {
  const padding = content.endsWith('==') ? 2 : content.endsWith('=') ? 1 : 0
  return (content.length / 4) * 3 - padding
}
