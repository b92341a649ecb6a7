/**
 * A self-signed certificate (RFC 5280): for TLS that nobody verifies, as between mail servers, where it
 * keeps listeners out all the same. Elliptic curve P-256, for one host name. Node makes none itself.
 */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'

export interface SelfSigned {
  /** PEM. */
  readonly key: string
  readonly cert: string
}

const BACKDATED_MS = 3_600_000

export function makeSelfSigned(o: {
  readonly host: string
  readonly nowMs: number
  readonly validMs: number
}): SelfSigned {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const name = sequence(set(sequence(oid(COMMON_NAME), utf8(o.host.slice(0, COMMON_NAME_MAX)))))
  const signed = sequence(
    context(0, integer(Buffer.from([2]))),
    integer(serial()),
    SIGNATURE_ALGORITHM,
    name,
    sequence(time(o.nowMs - BACKDATED_MS), time(o.nowMs + o.validMs)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    context(3, sequence(alternativeNames(o.host))),
  )
  const signature = sign('sha256', signed, privateKey)
  const certificate = sequence(signed, SIGNATURE_ALGORITHM, bits(signature))
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: pem('CERTIFICATE', certificate),
  }
}

const COMMON_NAME = '550403'
const COMMON_NAME_MAX = 64
const SUBJECT_ALT_NAME = '551d11'
/** ecdsa-with-SHA256 (RFC 5758 §3.2). */
const SIGNATURE_ALGORITHM = sequence(oid('2a8648ce3d040302'))

/** Positive, and never to be met twice. */
function serial(): Buffer {
  const bytes = randomBytes(16)
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40
  return bytes
}

function alternativeNames(host: string): Buffer {
  const dnsName = tagged(0x82, Buffer.from(host))
  return sequence(oid(SUBJECT_ALT_NAME), tagged(0x04, sequence(dnsName)))
}

/** DER: a tag, a length, a value (X.690 §8.1). */
function tagged(tag: number, ...parts: readonly Buffer[]): Buffer {
  const value = Buffer.concat(parts)
  return Buffer.concat([Buffer.from([tag]), lengthOf(value.length), value])
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length])
  const bytes = length < 0x100 ? [length] : [length >> 8, length & 0xff]
  return Buffer.from([0x80 | bytes.length, ...bytes])
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tagged(0x30, ...parts)
}

function set(...parts: readonly Buffer[]): Buffer {
  return tagged(0x31, ...parts)
}

function context(number: number, part: Buffer): Buffer {
  return tagged(0xa0 | number, part)
}

function integer(bytes: Buffer): Buffer {
  return tagged(0x02, bytes)
}

function bits(bytes: Buffer): Buffer {
  return tagged(0x03, Buffer.from([0]), bytes)
}

function oid(hex: string): Buffer {
  return tagged(0x06, Buffer.from(hex, 'hex'))
}

function utf8(text: string): Buffer {
  return tagged(0x0c, Buffer.from(text))
}

/** UTCTime, which ends with 2049 (RFC 5280 §4.1.2.5); GeneralizedTime after it. */
function time(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replaceAll(/[-:T]|\.\d+/g, '')
  return ms < Date.UTC(2050)
    ? tagged(0x17, Buffer.from(digits.slice(2)))
    : tagged(0x18, Buffer.from(digits))
}

function pem(label: string, der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? []
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n')
}
