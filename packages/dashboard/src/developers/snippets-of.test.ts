import { execFileSync } from 'node:child_process'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { smtpSnippets } from './smtp-snippets.ts'
import { sendSnippets } from './snippets.ts'
import { literalOf, quoteForShell } from './snippets-of.ts'

beforeAll(() => vi.stubGlobal('location', { origin: 'https://mail.example.com' }))
afterAll(() => vi.unstubAllGlobals())

/** RFC 5322 lets all of these stand in front of the sign. */
const hostile = "a'`touch$IFS'x`'$(id)&{b}|c@example.com"

/** The words of a command as a shell reads them, without running it. */
function wordsOf(command: string): string[] {
  const text = execFileSync('/bin/sh', ['-c', `show() { printf '%s\\0' "$@"; }; show ${command}`], {
    encoding: 'utf8',
    env: { PATH: '/nonexistent' },
  })
  return text.split('\0').slice(0, -1)
}

describe('lines for a shell', () => {
  it('keep any text one word', () => {
    const texts = fc
      .sample(fc.string({ unit: 'binary' }), 40)
      .map((text) => text.replaceAll('\0', ''))
    const all = [hostile, '', '-', "'", "''", '\\', '$HOME', '`id`', 'a b', 'ä\n', ...texts]
    const whole = all.map((text) => text.toWellFormed())
    expect(wordsOf(whole.map(quoteForShell).join(' '))).toEqual(whole)
  })

  it('leave what needs no quotes as people write it', () => {
    expect(quoteForShell('https://mail.example.com/v1/keys')).toBe(
      'https://mail.example.com/v1/keys',
    )
  })

  it('send by an address that a shell would run', () => {
    const words = wordsOf(sendSnippets(hostile).curl)
    expect(JSON.parse(words.at(-1) ?? '')).toMatchObject({ from: { email: hostile } })
    const { swaks } = smtpSnippets(
      { host: 'mail.example.com', starttls_port: 587, tls_port: null },
      hostile,
    )
    expect(wordsOf(swaks)).toContain(hostile)
  })
})

describe('literals for a program', () => {
  it('are the value that the JSON is', () => {
    const body = { 'x-own': "it's", from: { email: hostile }, text: 'a "b": c', lines: 'a\n' }
    const named: unknown = JSON.parse('{"__proto__": {"__proto__": false}}')
    const values = [body, named, ...fc.sample(fc.jsonValue(), 100)]
    for (const value of values) {
      const json = JSON.stringify(value, null, 2)
      const found: unknown = runInNewContext(`JSON.stringify(${literalOf(json)}, null, 2)`)
      expect(found).toBe(json)
    }
  })

  it('look as people write them', () => {
    expect(literalOf('{ "name": "News", "x-id": "1" }')).toBe("{ name: 'News', 'x-id': '1' }")
  })

  it('hold an address in a file of settings', () => {
    const { django } = smtpSnippets(
      { host: 'mail.example.com', starttls_port: 587, tls_port: null },
      '"a b"@example.com',
    )
    expect(django).toContain(String.raw`DEFAULT_FROM_EMAIL = "\"a b\"@example.com"`)
  })
})
