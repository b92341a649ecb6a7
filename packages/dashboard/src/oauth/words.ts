/** Words of the screens of OAuth. */
import { defineWords } from '../words/define-words.ts'

export const words = defineWords(
  {
    connect: 'Connect a mailbox',
    logInAgain: 'Log in again',
    app: 'OAuth app',
    apps: 'OAuth apps',
    appsLead:
      'An OAuth app is your registration at a provider such as Google or Microsoft. Any number of mailboxes log in by it.',
    noApps: 'There is no OAuth app yet',
    noAppsHelp:
      'Gmail and Microsoft 365 want OAuth in place of a password. Register an app at the provider once, and give its client id and secret here. Then each mailbox is connected by a login in the browser.',
    addApp: 'Add an OAuth app',
    firstApp:
      'First comes an OAuth app: your registration at the provider. One is enough for all mailboxes.',
    appSaved: 'The OAuth app was saved.',
    appDeleted: 'The OAuth app was deleted.',
    provider: 'Provider',
    providers: { google: 'Google', microsoft: 'Microsoft 365', custom: 'Another provider' },
    register: {
      google:
        'At Google: enable the Gmail API, set up the consent screen, and make an OAuth client of the type “Web application”.',
      microsoft:
        'At Microsoft: register an app, add the delegated permissions SMTP.Send, IMAP.AccessAsUser.All, offline_access, openid and email, and make a client secret.',
      custom: 'At the provider: register an app for the authorization code flow.',
    },
    openConsole: {
      google: 'Open the Google Cloud console',
      microsoft: 'Open the Microsoft Entra admin center',
      custom: '',
    },
    registerBack: 'Register this redirect address there:',
    callback: 'Redirect address to register',
    clientId: 'Client id',
    clientSecret: 'Client secret',
    secretHelp: 'It is stored encrypted, and never shown again.',
    secretKept: 'Leave it empty to keep the secret that is stored.',
    secretReplaced: 'It replaces the stored one. Mailboxes stay connected.',
    secretStored: 'stored, never shown',
    appId: 'Name of the app, for you',
    appIdHelp: 'Letters, digits, _ and -. Without one it gets an id.',
    directory: 'Directory (tenant) id',
    directoryHelp: 'Only of an app for one directory alone. Empty: accounts in any directory.',
    authorizeUrl: 'Authorization address',
    tokenUrl: 'Token address',
    userinfoUrl: 'Userinfo address',
    userinfoHelp: 'Needed if the provider gives no id_token: it says whose mailbox it is.',
    scopes: 'Scopes',
    scopesHelp:
      'As the provider documents them, with a space between. One of them must give a refresh token, often offline_access.',
    sendingServer: 'SMTP server, to send',
    readingServer: 'IMAP server, to read',
    noServer: 'none',
    changed: 'Changed',
    change: 'Change',
    newSecret: 'New secret',
    save: 'Save',
    delete: 'Delete',
    deleteAppTitle: 'Delete this OAuth app?',
    deleteAppHelp:
      'It is refused while mailers log in by the app. At the provider the registration stays.',
    use: 'The mailbox is used to',
    uses: { smtp: 'Send', imap: 'Read', smtp_imap: 'Send and read' },
    useHelp: {
      smtp: 'Mail from its address goes out by its server.',
      imap: 'Mail that arrives in INBOX becomes an event.',
      smtp_imap: 'Both, and mail that is sent is in its Sent folder.',
    },
    whatFollows: (provider: string) =>
      `Your browser goes to the provider (${provider}). Log in there with the mailbox, and agree. Then you come back here, and the connection is tested.`,
    goTo: {
      google: 'Go to Google',
      microsoft: 'Go to Microsoft',
      custom: 'Go to the provider',
    },
    connected: 'The mailbox is connected',
    notConnected: 'The mailbox is not connected',
    mailbox: 'Mailbox',
    webhook: 'Webhook',
    noWebhook: 'none yet: its mail is recorded and delivered nowhere. Open the mailer to add one.',
    testNote: 'Each step with what the server said. No mail is sent.',
    testing: 'The test runs.',
    openMailer: 'Open the mailer',
    failed: 'Failed',
    tryAgain: 'Try again',
    connectSecond: 'Connect it a second time',
    refused: 'The provider refused the login',
    refusedHelp: 'The code above is the provider’s own. Its documentation says what it means.',
    errors: {
      access_denied: {
        title: 'The login was declined',
        help: 'Somebody pressed “Cancel” at the provider, or an administrator has to agree first.',
      },
      scope_missing: {
        title: 'The login does not allow mail',
        help: 'A box was left unticked on the consent screen. Try again, and tick all of them.',
      },
      no_refresh_token: {
        title: 'The provider gave no refresh token',
        help: 'Without one the login ends within the hour. A scope is missing in the OAuth app, such as offline_access.',
      },
      address_unknown: {
        title: 'The provider does not say whose mailbox it is',
        help: 'Add the scopes openid and email to the OAuth app, or give it a userinfo address.',
      },
      address_unverified: {
        title: 'The provider does not say reliably whose mailbox it is',
        help: 'Its id_token is not valid, or its userinfo address does not answer.',
      },
      address_mismatch: {
        title: 'Another mailbox logged in',
        help: 'Log in with the address of the mailer. The provider may still be logged in with another one: choose the account there.',
      },
      token_request_failed: {
        title: 'The provider refused the OAuth app',
        help: 'Its client secret may be wrong, or have expired: give the app a new one. The log line oauth_login.no_token has the provider’s words.',
      },
      mailer_changed: {
        title: 'The mailer or its OAuth app was changed meanwhile',
        help: 'Nothing was stored. Try again.',
      },
      mailer_exists: {
        title: 'This address has a mailer already',
        help: 'Open that mailer and log in again there. A second mailer for one address is possible, too.',
      },
      invalid_request: {
        title: 'The provider sent the browser back without an answer',
        help: 'Try again. If it happens every time, look at the registration at the provider.',
      },
    },
  },
  {
    connect: 'Postfach verbinden',
    logInAgain: 'Erneut anmelden',
    app: 'OAuth-App',
    apps: 'OAuth-Apps',
    appsLead:
      'Eine OAuth-App ist Ihre Registrierung bei einem Anbieter wie Google oder Microsoft. Beliebig viele Postfächer melden sich über sie an.',
    noApps: 'Es gibt noch keine OAuth-App',
    noAppsHelp:
      'Gmail und Microsoft 365 verlangen OAuth statt eines Passworts. Registrieren Sie einmal eine App beim Anbieter und geben Sie hier ihre Client-ID und ihr Geheimnis an. Danach wird jedes Postfach durch eine Anmeldung im Browser verbunden.',
    addApp: 'OAuth-App hinzufügen',
    firstApp:
      'Zuerst kommt eine OAuth-App: Ihre Registrierung beim Anbieter. Eine genügt für alle Postfächer.',
    appSaved: 'Die OAuth-App wurde gespeichert.',
    appDeleted: 'Die OAuth-App wurde gelöscht.',
    provider: 'Anbieter',
    providers: { google: 'Google', microsoft: 'Microsoft 365', custom: 'Ein anderer Anbieter' },
    register: {
      google:
        'Bei Google: Aktivieren Sie die Gmail-API, richten Sie den Zustimmungsbildschirm ein und legen Sie einen OAuth-Client vom Typ „Webanwendung“ an.',
      microsoft:
        'Bei Microsoft: Registrieren Sie eine App, fügen Sie die delegierten Berechtigungen SMTP.Send, IMAP.AccessAsUser.All, offline_access, openid und email hinzu und erzeugen Sie einen geheimen Clientschlüssel.',
      custom: 'Beim Anbieter: Registrieren Sie eine App für den Authorization-Code-Flow.',
    },
    openConsole: {
      google: 'Google Cloud Console öffnen',
      microsoft: 'Microsoft Entra Admin Center öffnen',
      custom: '',
    },
    registerBack: 'Registrieren Sie dort diese Umleitungsadresse:',
    callback: 'Umleitungsadresse zum Registrieren',
    clientId: 'Client-ID',
    clientSecret: 'Client-Geheimnis',
    secretHelp: 'Es wird verschlüsselt gespeichert und nie wieder gezeigt.',
    secretKept: 'Leer lassen, um das gespeicherte Geheimnis zu behalten.',
    secretReplaced: 'Es ersetzt das gespeicherte. Postfächer bleiben verbunden.',
    secretStored: 'gespeichert, wird nie gezeigt',
    appId: 'Name der App, für Sie',
    appIdHelp: 'Buchstaben, Ziffern, _ und -. Ohne Namen bekommt sie eine Kennung.',
    directory: 'Verzeichnis-ID (Mandanten-ID)',
    directoryHelp:
      'Nur bei einer App für ein einziges Verzeichnis. Leer: Konten in jedem Verzeichnis.',
    authorizeUrl: 'Autorisierungsadresse',
    tokenUrl: 'Tokenadresse',
    userinfoUrl: 'Userinfo-Adresse',
    userinfoHelp: 'Nötig, wenn der Anbieter kein id_token gibt: sie sagt, wessen Postfach es ist.',
    scopes: 'Scopes',
    scopesHelp:
      'Wie der Anbieter sie dokumentiert, mit Leerzeichen dazwischen. Einer muss ein Refresh-Token geben, oft offline_access.',
    sendingServer: 'SMTP-Server, zum Senden',
    readingServer: 'IMAP-Server, zum Lesen',
    noServer: 'keiner',
    changed: 'Geändert',
    change: 'Ändern',
    newSecret: 'Neues Geheimnis',
    save: 'Speichern',
    delete: 'Löschen',
    deleteAppTitle: 'Diese OAuth-App löschen?',
    deleteAppHelp:
      'Solange Mailer sich über die App anmelden, wird es abgelehnt. Beim Anbieter bleibt die Registrierung bestehen.',
    use: 'Das Postfach dient zum',
    uses: { smtp: 'Senden', imap: 'Lesen', smtp_imap: 'Senden und Lesen' },
    useHelp: {
      smtp: 'Mails von seiner Adresse gehen über seinen Server hinaus.',
      imap: 'Mails, die in INBOX ankommen, werden zu Ereignissen.',
      smtp_imap: 'Beides, und gesendete Mails liegen in seinem Ordner „Gesendet“.',
    },
    whatFollows: (provider) =>
      `Ihr Browser geht zum Anbieter (${provider}). Melden Sie sich dort mit dem Postfach an und stimmen Sie zu. Danach kommen Sie hierher zurück, und die Verbindung wird getestet.`,
    goTo: {
      google: 'Weiter zu Google',
      microsoft: 'Weiter zu Microsoft',
      custom: 'Weiter zum Anbieter',
    },
    connected: 'Das Postfach ist verbunden',
    notConnected: 'Das Postfach ist nicht verbunden',
    mailbox: 'Postfach',
    webhook: 'Webhook',
    noWebhook:
      'noch keiner: seine Mails werden aufgezeichnet und nirgends zugestellt. Öffnen Sie den Mailer, um einen anzugeben.',
    testNote: 'Jeder Schritt mit den Worten des Servers. Es wird keine Mail gesendet.',
    testing: 'Der Test läuft.',
    openMailer: 'Mailer öffnen',
    failed: 'Fehlgeschlagen',
    tryAgain: 'Erneut versuchen',
    connectSecond: 'Ein zweites Mal verbinden',
    refused: 'Der Anbieter hat die Anmeldung abgelehnt',
    refusedHelp: 'Der Code oben ist der des Anbieters. Dessen Dokumentation sagt, was er bedeutet.',
    errors: {
      access_denied: {
        title: 'Die Anmeldung wurde abgebrochen',
        help: 'Jemand hat beim Anbieter „Abbrechen“ gedrückt, oder ein Administrator muss zuerst zustimmen.',
      },
      scope_missing: {
        title: 'Die Anmeldung erlaubt keine Mails',
        help: 'Auf dem Zustimmungsbildschirm blieb ein Haken ungesetzt. Versuchen Sie es erneut und setzen Sie alle.',
      },
      no_refresh_token: {
        title: 'Der Anbieter gab kein Refresh-Token',
        help: 'Ohne dieses endet die Anmeldung binnen einer Stunde. In der OAuth-App fehlt ein Scope, etwa offline_access.',
      },
      address_unknown: {
        title: 'Der Anbieter sagt nicht, wessen Postfach es ist',
        help: 'Geben Sie der OAuth-App die Scopes openid und email oder eine Userinfo-Adresse.',
      },
      address_unverified: {
        title: 'Der Anbieter sagt nicht verlässlich, wessen Postfach es ist',
        help: 'Sein id_token ist nicht gültig, oder seine Userinfo-Adresse antwortet nicht.',
      },
      address_mismatch: {
        title: 'Ein anderes Postfach hat sich angemeldet',
        help: 'Melden Sie sich mit der Adresse des Mailers an. Vielleicht ist beim Anbieter noch ein anderes Konto angemeldet: wählen Sie dort das richtige.',
      },
      token_request_failed: {
        title: 'Der Anbieter hat die OAuth-App abgelehnt',
        help: 'Vielleicht ist ihr Client-Geheimnis falsch oder abgelaufen: geben Sie der App ein neues. Die Logzeile oauth_login.no_token enthält die Worte des Anbieters.',
      },
      mailer_changed: {
        title: 'Der Mailer oder seine OAuth-App wurde inzwischen geändert',
        help: 'Nichts wurde gespeichert. Versuchen Sie es erneut.',
      },
      mailer_exists: {
        title: 'Für diese Adresse gibt es schon einen Mailer',
        help: 'Öffnen Sie jenen Mailer und melden Sie sich dort erneut an. Ein zweiter Mailer für eine Adresse ist auch möglich.',
      },
      invalid_request: {
        title: 'Der Anbieter schickte den Browser ohne Antwort zurück',
        help: 'Versuchen Sie es erneut. Geschieht es jedes Mal, sehen Sie sich die Registrierung beim Anbieter an.',
      },
    },
  },
)

/** The codes that are told in words; providers have others. */
export type LoginError = keyof (typeof words)['en']['errors']
