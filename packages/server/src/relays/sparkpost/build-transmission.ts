/**
 * One recipient's copy as a transmission of one recipient (SparkPost's Transmissions API).
 *
 * - Opens, clicks and unsubscriptions are this service's: all of SparkPost's tracking is off, and
 *   every mail is `transactional`. Of others SparkPost replaces `List-Unsubscribe` by its own, and drops
 *   ours; it would also keep account-wide lists by itself of who gets no newsletters, and lose
 *   the password resets of this service to them. Whom a tenant may not write to is in its suppressions.
 * - Header values are UTF-8: SparkPost encodes them.
 * - Of the metadata nothing but the name of the copy is used, and it comes back in every report.
 */
import { type Attachment, dispositionOf, mediaTypeOf } from '@postrider/mail'
import { mailRefName, writeMailRef } from '../callbacks/mail-ref.ts'
import type { RelayAttachment, RelayMail, RelayMailbox } from '../relay.ts'

const CAMPAIGN_OCTETS_MAX = 64
const FILENAME_OCTETS_MAX = 255
/** Longer ones are no extensions. */
const EXTENSION = /\.[^.]{1,16}$/

export function buildTransmission(mail: RelayMail): object {
  const literals = createLiterals()
  const content = contentOf(mail, literals)
  const data = literals.data()
  return {
    options: {
      open_tracking: false,
      initial_open: false,
      click_tracking: false,
      transactional: true,
      perform_substitutions: false,
    },
    ...(mail.campaignId === undefined
      ? {}
      : { campaign_id: cutTo(CAMPAIGN_OCTETS_MAX, mail.campaignId) }),
    recipients: [
      {
        address: { email: mail.to.address, header_to: mailboxesOf(mail.shown.to) },
        metadata: { [mailRefName]: writeMailRef(mail) },
        ...(data === undefined ? {} : { substitution_data: data }),
      },
    ],
    content,
  }
}

function contentOf(mail: RelayMail, literals: Literals): object {
  const { from, replyTo, subject, attachments, html } = mail
  const images = attachments.filter((one) => isShownIn(one, html))
  const files = attachments.filter((one) => !images.includes(one))
  return {
    from: senderOf(from, literals),
    // It is required.
    subject: literals.of(oneLine(subject) || ' '),
    ...(replyTo === undefined ? {} : { reply_to: literals.of(mailboxesOf([replyTo])) }),
    ...bodiesOf(mail),
    ...(images.length === 0 ? {} : { inline_images: images.map(imageOf) }),
    ...(files.length === 0 ? {} : { attachments: files.map(fileOf) }),
    headers: Object.fromEntries(
      headersOf(mail).map(([name, value]) => [name, literals.of(oneLine(value))]),
    ),
  }
}

function headersOf({ shown, headers }: RelayMail): readonly (readonly [string, string])[] {
  return shown.cc.length === 0 ? headers : [['Cc', mailboxesOf(shown.cc)], ...headers]
}

/** One of the two has to say something. */
function bodiesOf({ text = '', html = '' }: RelayMail): { text?: string; html?: string } {
  if (html === '') return { text: text === '' ? '\n' : text }
  return text === '' ? { html } : { text, html }
}

/** The domain is looked at when the transmission is taken. */
function senderOf({ address, name = '' }: RelayMailbox, literals: Literals): object {
  const at = address.lastIndexOf('@')
  const email = literals.of(address.slice(0, at)) + address.slice(at)
  return name.trim() === '' ? { email } : { email, name: literals.of(oneLine(name)) }
}

function isShownIn(attachment: Attachment, html: string | undefined): boolean {
  const { contentId } = attachment
  return (
    html !== undefined && contentId !== undefined && dispositionOf(attachment, html) === 'inline'
  )
}

/** HTML refers to it by its name. */
function imageOf(image: RelayAttachment): object {
  return { name: image.contentId, type: mediaTypeOf(image), data: image.content }
}

function fileOf(file: RelayAttachment): object {
  return { name: filenameOf(file.filename), type: mediaTypeOf(file), data: file.content }
}

/** The end says what it is. */
function filenameOf(filename: string): string {
  if (Buffer.byteLength(filename) <= FILENAME_OCTETS_MAX) return filename
  const [extension = ''] = EXTENSION.exec(filename) ?? []
  const stem = filename.slice(0, filename.length - extension.length)
  return cutTo(FILENAME_OCTETS_MAX - Buffer.byteLength(extension), stem) + extension
}

function cutTo(octets: number, text: string): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(octets))
  return text.slice(0, read)
}

function mailboxesOf(mailboxes: readonly RelayMailbox[]): string {
  return mailboxes.map(mailboxOf).join(', ')
}

/** As quoted-pairs braces in a row are the same to a reader, and none to the language. */
function mailboxOf({ address, name = '' }: RelayMailbox): string {
  if (name.trim() === '') return address
  const quoted = oneLine(name)
    .replace(/["\\]/g, String.raw`\$&`)
    .replace(/(?<=\{)\{/g, String.raw`\{`)
  return `"${quoted}" <${address}>`
}

function oneLine(text: string): string {
  return text.replace(/[\r\n\0]+/g, ' ')
}

/**
 * Keeps SparkPost's template language out of texts that customers wrote.
 *
 * `perform_substitutions: false` spares the bodies, but the headers still pass through the language,
 * encoded words included: `{{` in a subject would print nothing, or fail the whole message at the
 * provider. There is no way to switch that off, so such a text is given as data, and the header is a
 * reference to it: what a reference prints is not looked at again.
 */
interface Literals {
  /** What prints the text as it is. */
  of(text: string): string
  /** What the references are to; undefined where there are none. */
  data(): Readonly<Record<string, string>> | undefined
}

function createLiterals(): Literals {
  const texts: string[] = []
  return {
    of(text) {
      if (!text.includes('{{')) return text
      texts.push(text)
      return `{{{${nameOf(texts.length)}}}}`
    },
    data() {
      if (texts.length === 0) return undefined
      return Object.fromEntries(texts.map((text, i) => [nameOf(i + 1), text]))
    },
  }
}

function nameOf(n: number): string {
  return `postrider_literal_${n}`
}
