import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { loadCertificate } from '../certificates/server-certificate.ts'
import { createLogger } from '../log.ts'
import { loadSecrets } from '../secrets/secrets-file.ts'
import {
  closeDataDir,
  closeSecretFiles,
  findDataDirFault,
  findOpenFiles,
  findOpenMode,
  makeDataDir,
} from './data-dir.ts'

let base: string
let lines: string[]
let log: ReturnType<typeof createLogger>

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'data-dir-'))
  lines = []
  const destination = new PassThrough()
  destination.on('data', (line) => lines.push(String(line)))
  log = createLogger({ level: 'info', destination })
})
afterEach(() => rmSync(base, { recursive: true, force: true }))

const modeOf = (dir: string) => (statSync(dir).mode & 0o7777).toString(8)

it('creates the data directory for its owner only', () => {
  const dir = join(base, 'made')
  makeDataDir(dir)
  expect(modeOf(dir)).toBe('700')
  expect(findOpenMode(dir)).toBeUndefined()
})

it('creates it for its owner only with generated secrets and certificates', () => {
  const dirs = [join(base, 'secrets'), join(base, 'certificate')]
  const [secrets = '', certificate = ''] = dirs
  loadSecrets({
    databaseUrl: undefined,
    dataDir: secrets,
    secretKeys: undefined,
    adminToken: undefined,
  })
  const ownFile = join(certificate, 'inbound-tls.pem')
  loadCertificate({ files: undefined, ownFile, host: 'mx.example.com', nowMs: Date.now(), log })
  expect(dirs.map(modeOf)).toEqual(['700', '700'])
})

it.each([
  [0o755, '711'],
  [0o777, '711'],
  [0o750, '710'],
  [0o2770, '2710'],
])('removes the access of group and others: %o', (mode, after) => {
  chmodSync(base, mode)
  expect(findOpenMode(base)).toBe(`0${mode.toString(8)}`)
  closeDataDir(base, log)
  expect(modeOf(base)).toBe(after)
  expect(lines.join('')).toContain('data_dir.closed')
})

it.each([0o700, 0o711])('leaves a closed directory as it is, without a log line: %o', (mode) => {
  chmodSync(base, mode)
  closeDataDir(base, log)
  expect(modeOf(base)).toBe(mode.toString(8))
  expect(lines).toEqual([])
})

it('warns of a shared directory with the sticky bit, and leaves it as it is', () => {
  chmodSync(base, 0o1777)
  closeDataDir(base, log)
  expect(modeOf(base)).toBe('1777')
  expect(lines.join('')).toContain('data_dir.too_open')
})

it('does nothing without a directory', () => {
  closeDataDir(join(base, 'none'), log)
  expect(lines).toEqual([])
})

it.each(['secrets.json', 'postgres.json', 'inbound-tls.pem'])(
  'closes %s to others, and logs that',
  (name) => {
    const path = join(base, name)
    writeFileSync(path, '{}')
    chmodSync(path, 0o644)
    expect(findOpenFiles(base)).toEqual([{ path, mode: '0644' }])
    closeSecretFiles(base, log)
    expect(modeOf(path)).toBe('600')
    expect(lines.join('')).toContain('data_dir.file_closed')
    expect(findOpenFiles(base)).toEqual([])
  },
)

it('leaves private files and dangling links as they are, without a log line', () => {
  writeFileSync(join(base, 'secrets.json'), '{}', { mode: 0o400 })
  symlinkSync(join(base, 'none'), join(base, 'postgres.json'))
  closeSecretFiles(base, log)
  expect(modeOf(join(base, 'secrets.json'))).toBe('400')
  expect(lines).toEqual([])
})

it('finds no fault in a directory of its own, or in one that it may make', () => {
  expect(findDataDirFault(base)).toBeUndefined()
  expect(findDataDirFault(join(base, 'new', 'deeper'))).toBeUndefined()
})

/** As the user 65534 where this is root, who may do everything. */
function findFault(dir: string): string {
  const module = JSON.stringify(new URL('data-dir.ts', import.meta.url))
  const program = `import(${module}).then(({ findDataDirFault }) => {
    if (process.getuid() === 0) process.setuid(65534)
    console.log(process.getuid() + ': ' + findDataDirFault(${JSON.stringify(dir)}))
  })`
  return spawnSync(process.execPath, ['--eval', program], { encoding: 'utf8' }).stdout
}

it('says why it may not use a directory, and how to change that', () => {
  chmodSync(base, 0o555)
  expect(findFault(base)).toMatch(
    /^(\d+): The data directory \S+ cannot be used: it(?: belongs to the user 0, and the service runs as the user \1\. Run chown \1 on it|s owner may not write in it\. Run chmod 700 on it), or set POSTRIDER_DATA_DIR to another directory$/m,
  )
})

it('says that it may not make a directory', () => {
  chmodSync(base, 0o555)
  expect(findFault(join(base, 'new'))).toMatch(
    /^(\d+): The data directory \S+\/new cannot be used: the user \1 may not make it in \S+\. Make it for this user, or set POSTRIDER_DATA_DIR to another directory$/m,
  )
})
