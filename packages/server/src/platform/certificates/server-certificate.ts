/**
 * The certificate of a listener whose peers mostly do not verify it, such as mail servers (RFC 3207 §4.1):
 * the operator's files, or one of our own, made once and kept.
 */
import { X509Certificate } from 'node:crypto'
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { createSecureContext } from 'node:tls'
import type { Logger } from '../log.ts'
import { makeDataDir } from '../process/data-dir.ts'
import { makeSelfSigned } from './self-signed.ts'

export interface CertificateFiles {
  readonly cert: string
  readonly key: string
}

export interface KeyPair {
  /** PEM. */
  readonly cert: string
  readonly key: string
}

const OWN_VALID_MS = 10 * 365 * 86_400_000
const RENEWED_BEFORE_MS = 30 * 86_400_000

/** Throws where the operator's files are of no use. */
export function loadCertificate(o: {
  readonly files: CertificateFiles | undefined
  /** Where our own is kept. */
  readonly ownFile: string
  readonly host: string
  readonly nowMs: number
  readonly log: Logger
}): KeyPair {
  if (o.files !== undefined) return readCertificate(o.files)
  const { ownFile: file } = o
  const kept = readOwn(file, o.nowMs)
  if (kept !== undefined) return kept
  const made = makeSelfSigned({ host: o.host, nowMs: o.nowMs, validMs: OWN_VALID_MS })
  try {
    keep(file, made)
  } catch (error) {
    o.log.warn({ err: error, file }, 'certificate.not_kept')
  }
  return made
}

/** Together they have to make a pair. */
export function readCertificate(files: CertificateFiles): KeyPair {
  const pair = { cert: readFileSync(files.cert, 'utf8'), key: readFileSync(files.key, 'utf8') }
  createSecureContext(pair)
  return pair
}

/** What cannot be read, or ends soon, is made anew: nobody relies on it. */
function readOwn(file: string, nowMs: number): KeyPair | undefined {
  try {
    const text = readFileSync(file, 'utf8')
    const pair = { cert: text, key: text }
    createSecureContext(pair)
    const endsMs = Date.parse(new X509Certificate(text).validTo)
    return endsMs - nowMs > RENEWED_BEFORE_MS ? pair : undefined
  } catch {
    return undefined
  }
}

/** Whole before it has its name: processes on one host may start at once. */
function keep(file: string, pair: KeyPair): void {
  const temporary = `${file}.${process.pid}`
  makeDataDir(dirname(file))
  try {
    writeFileSync(temporary, `${pair.key}${pair.cert}`, { mode: 0o600 })
    renameSync(temporary, file)
  } finally {
    rmSync(temporary, { force: true })
  }
}
