import { X509Certificate } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createLogger } from '../log.ts'
import { makeSelfSigned } from './self-signed.ts'
import { loadCertificate } from './server-certificate.ts'

const NOW_MS = Date.parse('2026-11-22T10:00:00Z')
let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'postrider-certificate-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

const lines: string[] = []
const log = createLogger({ level: 'info', destination: { write: (line) => void lines.push(line) } })
const load = (o: Partial<Parameters<typeof loadCertificate>[0]> = {}) =>
  loadCertificate({
    files: undefined,
    ownFile: join(directory, 'deep', 'own.pem'),
    host: 'mx.example.com',
    nowMs: NOW_MS,
    log,
    ...o,
  })
const serialOf = ({ cert }: { readonly cert: string }) => new X509Certificate(cert).serialNumber

it('[contract 3.5] makes a certificate without configured files, and stores it for its owner only', () => {
  const made = load()
  expect(serialOf(load())).toBe(serialOf(made))
  expect(statSync(join(directory, 'deep', 'own.pem')).mode & 0o777).toBe(0o600)
})

it('replaces a certificate that ends soon or is damaged', () => {
  const made = load()
  const later = load({ nowMs: NOW_MS + 10 * 365 * 86_400_000 })
  expect(serialOf(later)).not.toBe(serialOf(made))
  writeFileSync(join(directory, 'deep', 'own.pem'), 'noise')
  expect(serialOf(load())).not.toBe(serialOf(later))
})

it('uses a certificate that cannot be stored', () => {
  writeFileSync(join(directory, 'file'), '')
  expect(serialOf(load({ ownFile: join(directory, 'file', 'own.pem') }))).toMatch(/^[0-9A-F]+$/)
  expect(lines.join('')).toContain('certificate.not_kept')
})

it('[contract 3.5] uses the configured files, which have to match', () => {
  const pairs = [1, 2].map(() =>
    makeSelfSigned({ host: 'mx.example.com', nowMs: NOW_MS, validMs: 1e9 }),
  )
  const files = { cert: join(directory, 'cert.pem'), key: join(directory, 'key.pem') }
  writeFileSync(files.cert, pairs[0]?.cert ?? '')
  writeFileSync(files.key, pairs[0]?.key ?? '')
  expect(load({ files }).cert).toBe(readFileSync(files.cert, 'utf8'))
  writeFileSync(files.key, pairs[1]?.key ?? '')
  expect(() => load({ files })).toThrow()
})
