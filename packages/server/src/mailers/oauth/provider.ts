/**
 * What is known of the OAuth providers (docs/reference/mailers.md#oauth-apps): where their
 * endpoints and mail servers are, what has to be asked for, and whom their id tokens come from.
 *
 * An app may name other addresses of its provider, such as a national cloud's or one directory's.
 */
import type { OAuthLoginType, OAuthMailServer, OAuthProvider } from '@postrider/contract'

export interface ProviderFacts {
  readonly authorizeUrl?: string
  readonly tokenUrl?: string
  readonly userinfoUrl?: string
  readonly smtp?: OAuthMailServer
  readonly imap?: OAuthMailServer
  /** For mail, by what the mailbox is used for. */
  readonly mailScopes: Readonly<Record<OAuthLoginType, readonly string[]>>
  /** Beside them: to get a refresh token, and to learn the address. */
  readonly otherScopes: readonly string[]
  readonly authorizeParameters: Readonly<Record<string, string>>
  /** What the token endpoint is to be told at a refresh: some give a token of another kind without. */
  readonly namesScopesAtRefresh: boolean
  /** `scope` of a grant lists what was granted, in the spelling in which it was asked for. */
  readonly namesGrantedScopes: boolean
  /**
   * What is sent by its servers is in the Sent folder without anybody's doing; by Outlook.com under a
   * Message-ID of its own, so that it is not to be found there.
   */
  readonly keepsSentMail: boolean
  /** Of id tokens, beside the origins of the app's own endpoints. */
  readonly issuers: readonly string[]
}

const GMAIL = ['https://mail.google.com/']
const MICROSOFT_SMTP = 'https://outlook.office.com/SMTP.Send'
const MICROSOFT_IMAP = 'https://outlook.office.com/IMAP.AccessAsUser.All'

export const PROVIDERS: Readonly<Record<OAuthProvider, ProviderFacts>> = {
  google: {
    authorizeUrl: 'https://accounts.google.com/o/oauth2/v2/auth',
    tokenUrl: 'https://oauth2.googleapis.com/token',
    userinfoUrl: 'https://openidconnect.googleapis.com/v1/userinfo',
    smtp: { host: 'smtp.gmail.com', port: 465, secure: 'SSL' },
    imap: { host: 'imap.gmail.com', port: 993, secure: 'SSL' },
    mailScopes: { smtp: GMAIL, imap: GMAIL, smtp_imap: GMAIL },
    otherScopes: ['openid', 'email'],
    // Without both, the second login of a mailbox brings no refresh token.
    authorizeParameters: { access_type: 'offline', prompt: 'consent' },
    namesScopesAtRefresh: false,
    namesGrantedScopes: true,
    keepsSentMail: true,
    issuers: ['https://accounts.google.com', 'accounts.google.com'],
  },
  microsoft: {
    authorizeUrl: 'https://login.microsoftonline.com/common/oauth2/v2.0/authorize',
    tokenUrl: 'https://login.microsoftonline.com/common/oauth2/v2.0/token',
    smtp: { host: 'smtp.office365.com', port: 587, secure: 'Tls' },
    imap: { host: 'outlook.office365.com', port: 993, secure: 'SSL' },
    mailScopes: {
      smtp: [MICROSOFT_SMTP],
      imap: [MICROSOFT_IMAP],
      smtp_imap: [MICROSOFT_SMTP, MICROSOFT_IMAP],
    },
    otherScopes: ['offline_access', 'openid', 'email'],
    authorizeParameters: { response_mode: 'query', prompt: 'select_account' },
    namesScopesAtRefresh: true,
    namesGrantedScopes: true,
    keepsSentMail: true,
    issuers: [],
  },
  custom: {
    mailScopes: { smtp: [], imap: [], smtp_imap: [] },
    otherScopes: [],
    authorizeParameters: {},
    namesScopesAtRefresh: false,
    // RFC 6749 §3.3 leaves the spelling to the server.
    namesGrantedScopes: false,
    keepsSentMail: false,
    issuers: [],
  },
}
