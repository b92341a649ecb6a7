/**
 * Decodes text by the charset that a message names (WHATWG Encoding), by what it must be where it names
 * none or a wrong one, and never fails: what cannot be decoded becomes U+FFFD or is read as windows-1252.
 */

/** What mail calls them, and the standard does not. */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ['cp932', 'shift_jis'],
  ['windows-932', 'shift_jis'],
  ['shiftjis', 'shift_jis'],
  ['cp936', 'gbk'],
  ['windows-936', 'gbk'],
  ['gb2312-80', 'gbk'],
  ['cp949', 'euc-kr'],
  ['uhc', 'euc-kr'],
  ['cp950', 'big5'],
  ['windows-950', 'big5'],
  ['eucjp', 'euc-jp'],
  ['cp51932', 'euc-jp'],
  ['iso2022jp', 'iso-2022-jp'],
  ['iso-2022-jp-1', 'iso-2022-jp'],
  ['iso-2022-jp-2', 'iso-2022-jp'],
  ['cp50220', 'iso-2022-jp'],
  ['cp50221', 'iso-2022-jp'],
  ['cp874', 'windows-874'],
  ['tis620', 'windows-874'],
])
const LABEL_CHARS_MAX = 40
/** Where HTML says its charset itself. */
const HTML_HEAD_BYTES = 1_024
/** It is replaced piece by piece, and seen no more. */
const UTF7_BYTES_MAX = 1024 * 1024

export function decodeText(bytes: Uint8Array, charset: string | undefined, isHtml = false): string {
  const label = normalize(charset ?? (isHtml ? charsetOfHtml(bytes) : undefined))
  const isUtf7 = label === 'utf-7' || label === 'unicode-1-1-utf-7'
  if (isUtf7 && bytes.length <= UTF7_BYTES_MAX) return decodeUtf7(bytes)
  // What calls itself ASCII and is not is UTF-8 more often than not.
  const isUncertain = label === undefined || label === 'us-ascii' || label === 'ascii'
  if (isUncertain) return decodeUnlabelled(bytes)
  return decodeAs(label, bytes) ?? decodeUnlabelled(bytes)
}

/** As UTF-8 if it is, else as windows-1252. */
export function decodeUnlabelled(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return new TextDecoder('windows-1252').decode(bytes)
  }
}

function normalize(charset: string | undefined): string | undefined {
  const label = charset?.trim().toLowerCase()
  if (label === undefined || label === '' || label.length > LABEL_CHARS_MAX) return undefined
  // RFC 2231 §5 may add a language.
  const [plain = ''] = label.split('*')
  return ALIASES.get(plain) ?? plain
}

function decodeAs(label: string, bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder(label).decode(bytes)
  } catch {
    // Node knows no such charset.
    return undefined
  }
}

function charsetOfHtml(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.subarray(0, HTML_HEAD_BYTES)).toString('latin1')
  return /<meta\s[^<>]{0,500}charset\s?=\s?["']?([\w:.-]{1,40})/i.exec(head)?.[1]
}

/** RFC 2152: base64 of UTF-16 between `+` and what is no sign of it. */
function decodeUtf7(bytes: Uint8Array): string {
  return Buffer.from(bytes)
    .toString('latin1')
    .replace(/\+([A-Za-z\d+/]*)-?/g, (_, encoded: string) => {
      if (encoded === '') return '+'
      const units = Buffer.from(encoded, 'base64')
      return units
        .subarray(0, units.length & ~1)
        .swap16()
        .toString('utf16le')
    })
}
