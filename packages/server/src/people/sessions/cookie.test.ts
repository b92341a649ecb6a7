/** [contract 7.1] The cookie of a session, and whose pages may use it. */
import { describe, expect, it } from 'vitest'
import { createSessionCookies } from './cookie.ts'

describe('the cookie of a session', () => {
  it.each([
    'https://mail.example.com',
    'https://mail.example.com:8443/postrider',
    'https://localhost:8443',
    'http://mail.example.com',
    'http://192.0.2.7:8080',
    'http://localhost.example.com',
    'http://127.0.0.1.example.com',
  ])('goes by TLS alone, and to this host alone, with %s', (publicUrl) => {
    const { name, holding, cleared } = createSessionCookies(publicUrl).session
    expect(name).toBe('__Host-postrider_session')
    for (const header of [holding('token'), cleared]) {
      const [, ...attributes] = header.split('; ')
      expect(attributes).toEqual(expect.arrayContaining(['Path=/', 'HttpOnly', 'SameSite=Lax']))
      expect(attributes).toContain('Secure')
      expect(header).not.toMatch(/domain/i)
    }
  })

  it.each(['http://localhost:8080', 'http://127.0.0.1:8080', 'http://[::1]:8080'])(
    'goes without TLS on this machine alone: %s',
    (publicUrl) => {
      const { name, holding } = createSessionCookies(publicUrl).session
      expect(name).toBe('postrider_session')
      expect(holding('t')).toBe(
        'postrider_session=t; Path=/; HttpOnly; SameSite=Lax; Max-Age=1209600',
      )
    },
  )
})

describe('the origin of the dashboard', () => {
  it('is the one of the public URL, to the letter', () => {
    const { isOwnOrigin } = createSessionCookies('https://mail.example.com:8443/postrider')
    expect(isOwnOrigin('https://mail.example.com:8443', 'evil.test')).toBe(true)
    for (const origin of [
      'https://mail.example.com',
      'http://mail.example.com:8443',
      'https://MAIL.example.com:8443',
      'https://mail.example.com:8443/',
      'https://mail.example.com:8443.evil.test',
      'https://localhost:8443',
      'null',
      '',
    ])
      expect([origin, isOwnOrigin(origin, new URL('http://x').host)]).toEqual([origin, false])
  })

  it('is on this machine any name of it, where the page is of the host that is called', () => {
    const { isOwnOrigin } = createSessionCookies('http://localhost:8080')
    for (const host of ['localhost:8080', '127.0.0.1:8080', '[::1]:8080', 'app.localhost:9000'])
      expect([host, isOwnOrigin(`http://${host}`, host)]).toEqual([host, true])
    for (const [origin, host] of [
      ['http://localhost:3000', 'localhost:8080'],
      ['http://127.0.0.1:8080', 'localhost.example.com:8080'],
      ['http://evil.test', 'evil.test'],
      ['http://localhost.evil.test:8080', 'localhost.evil.test:8080'],
      ['https://127.0.0.1:8080', '127.0.0.1:8080'],
      ['http://evil@127.0.0.1:8080', '127.0.0.1:8080'],
      ['null', '127.0.0.1:8080'],
    ] as const)
      expect([origin, host, isOwnOrigin(origin, host)]).toEqual([origin, host, false])
    expect(isOwnOrigin('http://127.0.0.1:8080', undefined)).toBe(false)
  })
})
