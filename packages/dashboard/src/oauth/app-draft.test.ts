import { expect, it } from 'vitest'
import { appChangeOf, draftOf, newAppOf } from './app-draft.ts'

const back = 'https://mail.example.com/app/t/tn_1/mailers/connected'
const given = { clientId: ' id ', clientSecret: ' secret ' }

it('makes an app of Google of its client alone', () => {
  expect(newAppOf({ ...draftOf(), ...given }, back)).toEqual({
    provider: 'google',
    client_id: 'id',
    client_secret: 'secret',
    redirect_uris: [back],
  })
})

it('names the endpoints of one directory of Microsoft', () => {
  const draft = { ...draftOf(), ...given, provider: 'microsoft' as const, appId: 'office' }
  expect(newAppOf({ ...draft, directory: ' a/b ' }, back)).toMatchObject({
    app_id: 'office',
    authorize_url: 'https://login.microsoftonline.com/a%2Fb/oauth2/v2.0/authorize',
    token_url: 'https://login.microsoftonline.com/a%2Fb/oauth2/v2.0/token',
  })
  expect(newAppOf(draft, back)).not.toHaveProperty('token_url')
})

it('sends endpoints, scopes and servers of another provider alone', () => {
  const typed = {
    ...{ ...draftOf(), ...given, scopes: ' mail  offline ', userinfoUrl: '' },
    authorizeUrl: 'https://login.example.com/authorize',
    tokenUrl: 'https://login.example.com/token',
    imap: { host: 'imap.example.com', port: '993', secure: 'SSL' as const },
  }
  const own = newAppOf({ ...typed, provider: 'custom' }, back)
  expect(own).toMatchObject({
    authorize_url: 'https://login.example.com/authorize',
    scopes: ['mail', 'offline'],
    imap: { host: 'imap.example.com', port: 993, secure: 'SSL' },
  })
  expect(own).not.toHaveProperty('smtp')
  expect(own).not.toHaveProperty('userinfo_url')
  expect(newAppOf({ ...typed, provider: 'google' }, back)).not.toHaveProperty('imap')
})

it('changes the secret only where one is typed, and takes a server away that is left empty', () => {
  expect(appChangeOf(draftOf())).toEqual({})
  expect(appChangeOf({ ...draftOf(), clientSecret: 'new' })).toEqual({ client_secret: 'new' })
  const imap = { host: 'imap.example.com', port: '143', secure: 'Tls' as const }
  expect(appChangeOf({ ...draftOf(), provider: 'custom', imap })).toEqual({
    scopes: null,
    smtp: null,
    imap: { ...imap, port: 143 },
  })
})
