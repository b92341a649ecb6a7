/** An OAuth app as it is typed, and what the service is told of it. */
import type { CreateOAuthAppBody, OAuthApp, OAuthProvider } from '@postrider/client'
import type { ServerDraft } from '../mailers/server-fields.tsx'

export interface AppDraft {
  readonly provider: OAuthProvider
  readonly appId: string
  readonly clientId: string
  readonly clientSecret: string
  /** Of Microsoft: the id of the one directory that the app is for. */
  readonly directory: string
  readonly authorizeUrl: string
  readonly tokenUrl: string
  readonly userinfoUrl: string
  /** Separated by spaces. */
  readonly scopes: string
  readonly smtp: ServerDraft
  readonly imap: ServerDraft
}

export function draftOf(app?: OAuthApp): AppDraft {
  const server = (known: OAuthApp['smtp'], port: string): ServerDraft =>
    known === undefined
      ? { host: '', port, secure: 'SSL' }
      : { host: known.host, port: String(known.port), secure: known.secure }
  return {
    provider: app?.provider ?? 'google',
    appId: app?.app_id ?? '',
    clientId: app?.client_id ?? '',
    clientSecret: '',
    directory: '',
    authorizeUrl: app?.authorize_url ?? '',
    tokenUrl: app?.token_url ?? '',
    userinfoUrl: app?.userinfo_url ?? '',
    scopes: app?.scopes?.join(' ') ?? '',
    smtp: server(app?.smtp, '465'),
    imap: server(app?.imap, '993'),
  }
}

/** `back`: the dashboard's own address among those that browsers are sent to. */
export function newAppOf(draft: AppDraft, back: string): CreateOAuthAppBody {
  const { appId, clientId, clientSecret, provider } = draft
  return {
    ...(appId.trim() !== '' && { app_id: appId.trim() }),
    provider,
    client_id: clientId.trim(),
    client_secret: clientSecret.trim(),
    redirect_uris: [back],
    ...endpointsOf(draft),
    ...(provider === 'custom' && ownSettingsOf(draft)),
  }
}

/** What can be changed of an app. An empty secret stays as it is. */
export function appChangeOf(draft: AppDraft) {
  const secret = draft.clientSecret.trim()
  return {
    ...(secret !== '' && { client_secret: secret }),
    ...(draft.provider === 'custom' && {
      scopes: null,
      smtp: null,
      imap: null,
      ...ownSettingsOf(draft),
    }),
  }
}

function endpointsOf({ provider, ...draft }: AppDraft) {
  const directory = draft.directory.trim()
  if (provider === 'microsoft' && directory !== '') {
    const base = `https://login.microsoftonline.com/${encodeURIComponent(directory)}/oauth2/v2.0`
    return { authorize_url: `${base}/authorize`, token_url: `${base}/token` }
  }
  if (provider !== 'custom') return {}
  const userinfo = draft.userinfoUrl.trim()
  return {
    authorize_url: draft.authorizeUrl.trim(),
    token_url: draft.tokenUrl.trim(),
    ...(userinfo !== '' && { userinfo_url: userinfo }),
  }
}

function ownSettingsOf(draft: AppDraft) {
  const scopes = draft.scopes.split(/\s+/).filter((scope) => scope !== '')
  const server = ({ host, port, secure }: ServerDraft) => ({
    host: host.trim(),
    port: Number(port),
    secure,
  })
  return {
    ...(scopes.length > 0 && { scopes }),
    ...(draft.smtp.host.trim() !== '' && { smtp: server(draft.smtp) }),
    ...(draft.imap.host.trim() !== '' && { imap: server(draft.imap) }),
  }
}
