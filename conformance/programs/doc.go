// Package programs signs people in to programs of other projects, which use Mandate as their OpenID Provider. Each
// program has the settings of its own documentation. The server has its default settings, and each program is
// registered by `mandate application add` with a name, a grant and a redirect URI.
//
// Every run of the tests tries the programs that are fast to install. The others have the build tag foreign, and
// `make foreign` tries them. docs/programs-tried.md shows the results.
package programs
