import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { createHostsFile, parseHosts } from './hosts-file.ts'

const directory = mkdtempSync(join(tmpdir(), 'hosts-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const v4 = (address: string) => ({ address, family: 4 })

describe('the hosts file', () => {
  it('gives each name its addresses, in order, once each', () => {
    const text = [
      '# comment',
      '127.0.0.1\tlocalhost  One.example # two.example',
      '::1 localhost',
      '  192.0.2.1 one.example one.example.\r',
      '192.0.2.1 one.example',
      'nonsense three.example',
      '999.1.1.1 three.example',
      '192.0.2.7',
      '',
    ].join('\n')
    expect([...parseHosts(text)]).toEqual([
      ['localhost', [v4('127.0.0.1'), { address: '::1', family: 6 }]],
      ['one.example', [v4('127.0.0.1'), v4('192.0.2.1')]],
    ])
  })

  it('is read again once it may have changed, and not before', async () => {
    const path = join(directory, 'hosts')
    let now = 0
    const hosts = createHostsFile({ path, nowMs: () => now })
    writeFileSync(path, '192.0.2.1 a.example')
    expect(await hosts.find('a.example')).toEqual([v4('192.0.2.1')])
    writeFileSync(path, '192.0.2.2 a.example')
    now = 4_999
    expect(await hosts.find('a.example')).toEqual([v4('192.0.2.1')])
    now = 5_000
    expect(await hosts.find('a.example')).toEqual([v4('192.0.2.2')])
  })

  it('defines nothing when it is missing', async () => {
    const hosts = createHostsFile({ path: join(directory, 'none') })
    expect(await hosts.find('localhost')).toBeUndefined()
  })
})
