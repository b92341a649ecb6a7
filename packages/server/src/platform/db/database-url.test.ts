import { describe, expect, it } from 'vitest'
import { readDatabaseUrl } from './database-url.ts'

const hostsOf = (url: string) =>
  readDatabaseUrl(url).hosts.map(({ host, port }) => `${host}|${port ?? ''}`)

describe('reading a database URL', () => {
  it.each([
    ['postgres://app@db.example.com/x', ['db.example.com|']],
    ['postgres://app:p%40ss@db.example.com:5433/x?sslmode=disable', ['db.example.com|5433']],
    ['postgres://app@a:5432,b:5433/x?target_session_attrs=read-write', ['a|5432', 'b|5433']],
    ['postgres://app@a,b,c/x', ['a|', 'b|', 'c|']],
    ['postgres://app@[::1]:5432,[2001:db8::2]/x', ['::1|5432', '2001:db8::2|']],
    ['postgres://app@/x?host=a,b&port=5432,5433', ['a|5432', 'b|5433']],
    ['postgres://app@/x?host=a,b&port=6000', ['a|6000', 'b|6000']],
    ['postgres://app@ignored:1/x?host=::1,127.0.0.1', ['::1|', '127.0.0.1|']],
    ['postgres://app@/x?host=%2Fvar%2Frun%2Fpostgresql', ['/var/run/postgresql|']],
    ['postgres://app@%2Fvar%2Frun%2Fpostgresql:5433/x', ['/var/run/postgresql|5433']],
    ['postgres:///x', []],
    ['postgres:///x?port=5433', ['localhost|5433']],
  ])('finds the hosts of %s', (url, hosts) => {
    expect(hostsOf(url)).toEqual(hosts)
  })

  it('leaves all other parts of the URL to the driver as written', () => {
    const { url } = readDatabaseUrl(
      'postgresql://app:p%40,ss@a:1,b:2/da%20ta?sslmode=disable&target_session_attrs=primary&options=-c%20x%3D1',
    )
    expect(url).toBe(
      'postgresql://app:p%40,ss@localhost/da%20ta?sslmode=disable&options=-c%20x%3D1',
    )
  })

  it('requires a writable server, unless the driver\'s "primary" is enough', () => {
    expect(readDatabaseUrl('postgres://a/x').mustWrite).toBe(true)
    expect(readDatabaseUrl('postgres://a/x?target_session_attrs=read-write').mustWrite).toBe(true)
    expect(readDatabaseUrl('postgres://a/x?target_session_attrs=primary').mustWrite).toBe(false)
    expect(readDatabaseUrl('postgres://a/x?target_session_attrs=any').mustWrite).toBe(false)
  })

  it.each([
    ['postgres://a/x?target_session_attrs=standby', 'other than read-write, primary, any'],
    ['postgres://a/x?target_session_attrs=prefer-standby', 'Postrider needs the primary'],
    ['postgres://a/x?target_session_attrs=', 'target_session_attrs'],
    ['postgres://a:1,,b:2/x', 'number 2'],
    ['postgres://a,b:99999/x', 'a port that is none (of host number 2)'],
    ['postgres://a:0,b/x', 'of host number 1'],
    ['postgres:///x?host=a,b,c&port=1,2', '3 hosts and 2 ports'],
    ['postgres:///x?host=a,b&port=1,x', 'of host number 2'],
    ['postgres://a,b,c,d,e,f,g,h,i/x', 'names 9 hosts: at most 8'],
    ['postgres://[::1,b/x', 'number 1'],
    ['mysql://hunter2@a/x', 'must look like'],
  ])('refuses %s, and says what to write', (url, words) => {
    expect(() => readDatabaseUrl(url)).toThrow(words)
  })

  it.each([
    'postgres://app:hunter2@a:1,,b/x',
    'postgres://app:hunter2@a/x?target_session_attrs=hunter2',
    'mysql://hunter2@a/x',
  ])('repeats no part of the URL in its refusal', (url) => {
    try {
      readDatabaseUrl(url)
    } catch (error) {
      expect(String(error)).not.toContain('hunter2')
    }
  })
})
