# Nix: `nix run .`, `nix profile install .`, `nix develop`. The version is that of Cargo.toml.
{
  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      manifest = (builtins.fromTOML (builtins.readFile ./Cargo.toml)).workspace.package;
      systems = [ "x86_64-linux" "aarch64-linux" "aarch64-darwin" ];
      each = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
    in {
      packages = each (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = "tokendeck";
          version = manifest.version;
          src = self;
          cargoLock.lockFile = ./Cargo.lock;
          buildType = "dist";
          cargoBuildFlags = [ "--bin" "tokendeck" ];
          # They need a terminal and open ports; `.ci/run` runs them.
          doCheck = false;
          env.TOKENDECK_COMMIT = self.shortRev or "";
          nativeBuildInputs = [ pkgs.installShellFiles ];
          postInstall = ''
            $out/bin/tokendeck man > tokendeck.1
            installManPage tokendeck.1
            for shell in bash fish zsh; do
              $out/bin/tokendeck completions $shell > tokendeck.$shell
              installShellCompletion tokendeck.$shell
            done
          '';
          meta = {
            description = "Terminal dashboard and local JSON API for crypto-token analysts";
            license = pkgs.lib.licenses.mit;
            mainProgram = "tokendeck";
          };
        };
      });
      devShells = each (pkgs: { default = pkgs.mkShell { nativeBuildInputs = [ pkgs.cargo pkgs.rustc pkgs.clippy pkgs.rustfmt ]; }; });
    };
}
