import { expect, it } from 'vitest'
import { readOidcSettings } from './oidc-settings.ts'

const setting = (name: string, value: string | null, is_set = true) => ({
  name: `POSTRIDER_${name}`,
  value,
  is_set,
})

it('tells what is configured, without the secret', () => {
  const settings = [
    setting('PUBLIC_URL', 'https://mail.example.com'),
    setting('OIDC_ISSUER', 'https://login.example.com'),
    setting('OIDC_CLIENT_ID', 'postrider'),
    setting('OIDC_CLIENT_SECRET', null),
    setting('OIDC_ROLE_CLAIM', 'roles'),
    setting('OIDC_ONLY', 'true'),
  ]
  expect(readOidcSettings(settings, 'http://127.0.0.1:8080')).toEqual({
    isOn: true,
    issuer: 'https://login.example.com',
    clientId: 'postrider',
    hasSecret: true,
    roleClaim: 'roles',
    isOnly: true,
    redirectUri: 'https://mail.example.com/ui/oidc/callback',
  })
})

it('is off without an issuer; the redirect URI is then that of the page', () => {
  const settings = [setting('OIDC_ISSUER', null, false), setting('OIDC_ONLY', 'false')]
  expect(readOidcSettings(settings, 'http://127.0.0.1:8080')).toMatchObject({
    isOn: false,
    isOnly: false,
    redirectUri: 'http://127.0.0.1:8080/ui/oidc/callback',
  })
})
